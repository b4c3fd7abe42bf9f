#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/common/progress.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/model/operator_trust.h"
#include "generator/job/generate.h"
#include "generator/link/link.h"

namespace understudy::cli {

/// Which profiles provide a benchmark's times.
struct ProfileChoice {
  std::vector<std::string> files;  ///< --profile
  bool none = false;               ///< --profile none
  /// --graph-profile: profiles of the same steps launched as graphs, for their device times.
  std::vector<std::string> graph_runs = {};
  /// --counters: files of one rank, or one for each rank in their order.
  std::vector<std::string> counters = {};
  bool is_as_profiled = false;  ///< LinkOptions::is_as_profiled; only without traces
};

/// The traces of a job. If none were recorded, read_job() makes them of the step `step` of the
/// profiles (generator/profile/trace_of_profile.h); if `step` is empty, of a single profile's
/// typical step, or of the first step of several profiles. A profile of the pass that captured
/// graphs gets its device events from the graph run in the same place of `graph_runs`
/// (et_schema/formats/kineto/graph_capture.h).
struct JobTraces {
  et_schema::TraceSet set;
  /// The profiles that the traces were made of, in the traces' order; otherwise empty.
  std::vector<et_schema::Profile> made_of;
  std::optional<std::string> step = {};  ///< the step of the traces, if read_job() selected it
};
[[nodiscard]] JobTraces read_job(const std::vector<std::string>& paths, const std::string& step,
                                 et_schema::RankGaps gaps = et_schema::RankGaps::kRefused,
                                 const std::vector<std::string>& graph_runs = {});

/// Links the traces with the profiles that they were made of, or with the requested ones. Otherwise
/// uses the times that the traces themselves hold (Chakra), or links the profiles of the traces'
/// capture. Times come from the profile recorded without the trace's observer if it matches;
/// parents are repaired from the profile of the same step. Returns nothing without times or with
/// --profile none.
[[nodiscard]] std::vector<generator::Link> link_profiles(const std::vector<std::string>& paths,
                                                         JobTraces& job,
                                                         const ProfileChoice& choice,
                                                         const std::optional<std::string>& step,
                                                         Progress& progress);

/// Joins the counters in `files` (--counters) to the links of their ranks. Throws Error: usage if
/// there is no link, or not a file for each of several; bad input as the readers do, and if no
/// kernel of the step has counters.
void add_counters(const std::vector<std::string>& files,
                  const std::vector<et_schema::Trace>& traces,
                  const std::optional<std::string>& step, std::vector<generator::Link>& links);

struct Compiled {
  et_schema::Bench bench;
  /// Profiles beside the traces that were not linked; of profiles alone, those that are no rank's.
  std::vector<std::string> unlinked_profiles;
};

/// Throws Error (bad input) if a program would call an operator that does more than compute
/// (et_schema/model/operator_trust.h) and is not allowed. The functions below call it.
void refuse_operators(const et_schema::Bench& bench, const std::string& path,
                      const et_schema::AllowedOperators& allowed);

/// Adds --profile FILE, or none. `given` says whose times they are.
Option add_profile_option(CommandLine& line, ProfileChoice& profiles, const std::string& given);

/// Adds --allow-operator NAME.
void add_allow_option(CommandLine& line, et_schema::AllowedOperators& allowed);

/// Must be called before the operator map is queried.
void use_operator_maps(const std::vector<std::string>& files);

/// For programs that do not call operators themselves.
[[nodiscard]] inline et_schema::AllowedOperators all_operators() {
  return {"*"};
}

/// Reads the traces of all ranks, links them with their profiles and compiles them: as `generate`
/// does before it writes, and every program that accepts traces instead of a benchmark.
[[nodiscard]] Compiled compile_traces(const std::vector<std::string>& paths,
                                      const generator::GenerateOptions& options,
                                      const ProfileChoice& profiles, Progress& progress);

/// Returns true if `paths` is a single bench.et.
[[nodiscard]] bool is_one_benchmark(const std::vector<std::string>& paths);

/// Like compile_traces(). If `paths` is a single bench.et, loads it unchanged.
[[nodiscard]] Compiled load_benchmark(const std::vector<std::string>& paths,
                                      const generator::GenerateOptions& options,
                                      const ProfileChoice& profiles, Progress& progress);

}  // namespace understudy::cli
