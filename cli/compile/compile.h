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
#include "generator/profile/trace_of_profile.h"

namespace understudy::cli {

/// Which profiles give a benchmark its times.
struct ProfileChoice {
  std::vector<std::string> files;  ///< --profile
  bool none = false;               ///< --no-profile
  /// --graph-profile: of the same steps launched as graphs, for their device times.
  std::vector<std::string> graph_runs = {};
  bool is_as_profiled = false;  ///< of profiles alone: LinkOptions::is_as_profiled
};

/// The traces of a job: those that were recorded or, where there are none, made of its profiles, as
/// far as they show `step` (generator/profile/trace_of_profile.h). Empty: of a profile alone its
/// typical step, else the first.
struct JobTraces {
  et_schema::TraceSet set;
  /// The profiles that traces were made of, in their order; otherwise empty.
  std::vector<et_schema::Profile> made_of;
  std::optional<std::string> step = {};  ///< that they hold, if it was chosen here
};
[[nodiscard]] JobTraces read_job(const std::vector<std::string>& paths, const std::string& step,
                                 et_schema::RankGaps gaps = et_schema::RankGaps::kRefused);

/// Links the traces with the profiles that they were made of, or with those that were asked for;
/// else with the times that all of them
/// hold themselves (Chakra), or with the profiles of the capture that the traces lie in: times from
/// the profile without the trace's observer, where it joins, and parents repaired from that of the
/// same step. Nothing where there is neither, or with --no-profile.
[[nodiscard]] std::vector<generator::Link> link_profiles(const std::vector<std::string>& paths,
                                                         JobTraces& job,
                                                         const ProfileChoice& choice,
                                                         const std::optional<std::string>& step,
                                                         Progress& progress);

/// Asks the program `operator_results`, which has LibTorch, once for each different call. Throws
/// Error (usage) where this build has no such program; the function that it returns throws Error
/// (failed) where the program does not run.
[[nodiscard]] generator::AskResults ask_results();
/// Has that program judge the functions of a benchmark's operator maps. Throws Error (bad input) as
/// a replay would. Does nothing where this build has no such program.
void check_operator_maps(const et_schema::Bench& bench);

struct Compiled {
  et_schema::Bench bench;
  /// Profiles that lay beside the traces and were not linked.
  std::vector<std::string> unlinked_profiles;
};

/// Throws Error (bad input) if a program would call what does more than compute: see
/// et_schema/model/operator_trust.h. Part of the functions below.
void refuse_operators(const et_schema::Bench& bench, const std::string& path,
                      const et_schema::AllowedOperators& allowed);

/// Adds --allow-operator NAME.
void add_allow_option(CommandLine& line, et_schema::AllowedOperators& allowed);

/// Adds --op-map FILE. What it names is to be given to use_operator_maps() before the map is asked.
void add_map_option(CommandLine& line, std::vector<std::string>& files);
void use_operator_maps(const std::vector<std::string>& files);

/// For programs that only look at operators, or leave it to others to call them.
[[nodiscard]] inline et_schema::AllowedOperators all_operators() {
  return {"*"};
}

/// Reads the traces of all ranks, links them with their profiles and compiles them: what `generate`
/// does before it writes, and every program that takes traces in place of a benchmark.
[[nodiscard]] Compiled compile_traces(const std::vector<std::string>& paths,
                                      const generator::GenerateOptions& options,
                                      const ProfileChoice& profiles, Progress& progress);

/// Whether the one path is a bench.et.
[[nodiscard]] bool is_one_benchmark(const std::vector<std::string>& paths);

/// The same, or a benchmark as it was written where the one path is a bench.et.
[[nodiscard]] Compiled load_benchmark(const std::vector<std::string>& paths,
                                      const generator::GenerateOptions& options,
                                      const ProfileChoice& profiles, Progress& progress);

}  // namespace understudy::cli
