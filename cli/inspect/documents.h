#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/chakra/check.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "op_times.h"

namespace understudy::cli {

// What inspect shows, a document each; their JSON: docs/formats.md, "inspect --format json".

/// What the user asked to see of traces beside the counts.
struct InspectOptions {
  bool ops = false;
  bool collectives = false;
  bool tensors = false;
  bool tree = false;
  GroupBy by = GroupBy::kName;  ///< what the rows of `ops` are
};

/// What is in traces, by rank. `ops`: by rank, where they are asked for. Throws et_schema::Error as
/// communication_calls() does.
[[nodiscard]] pages::Page traces_page(const et_schema::TraceSet& set,
                                      const std::vector<RankOps>& ops,
                                      const InspectOptions& options);

/// What a benchmark holds: instructions by kind, slots, memory, what the generator opened, losses;
/// on the page also the timeline of the recorded step and where its time went, as far as a profile
/// was linked; with `options` its operators in groups, and its communication call by call. `file`
/// names it. Throws Error (usage) for groups that a benchmark does not tell: modules and phases.
[[nodiscard]] pages::Page bench_page(const et_schema::Bench& bench, const std::string& file,
                                     const InspectOptions& options);

/// The memory of a benchmark's tensors over the step, by their lifetimes: a curve, its peak, the
/// largest tensors there; of `rank` alone where it is given. For csv the curve has the
/// instructions' names. Throws Error (usage): no such rank.
[[nodiscard]] pages::Page memory_page(const et_schema::Bench& bench, std::optional<int> rank,
                                      Format format);

/// All ranks' communication, matched before anything runs: groups, what does not match, and who
/// then waits for whom; bad where ranks do not match. `file` names the job. Throws Error: usage,
/// for some of a job's ranks; bad input, as matching::JobComms::add() does.
[[nodiscard]] pages::Page matching_page(const et_schema::Bench& bench, const std::string& file);

/// The machine code that a benchmark holds: each kernel and architecture with its registers, shared
/// memory and bytes, how many instructions launch it, and its share of the recorded device time;
/// and the kernels without any.
[[nodiscard]] pages::Page kernels_page(const et_schema::Bench& bench);

/// What a check of Chakra traces found; bad where it refuses them.
[[nodiscard]] pages::Page check_page(const std::vector<et_schema::ChakraFile>& files,
                                     const et_schema::ChakraCheck& check);

/// Where the device time of Kineto profiles went, of each by itself: all of its kernels, copies and
/// fills, by class, by what launched them, and by name. Files, archives and folders; what is no
/// profile in them is passed over. Throws Error: usage, without any profile; bad input.
[[nodiscard]] pages::Page device_time_page(const std::vector<std::string>& paths);

/// A report that was measured with the benchmark.
struct CertifiedReport {
  std::string file;
  std::string json;
};

/// What a certificate says of a report. Nobody signed the report: what can be checked are ranges,
/// that its ranks' figures add up to the job's, and that the original's times are the benchmark's.
/// Throws Error (bad input): one of these does not hold, a report of another benchmark, or one that
/// cannot be read.
[[nodiscard]] nlohmann::ordered_json measured_by(const CertifiedReport& given,
                                                 const et_schema::Bench& bench,
                                                 const std::string& benchmark_hash);

/// What one who gets a benchmark wants to know before trusting or running it: the hashes of what it
/// is and was made of, versions, what was selected, what was lost, replaced and pinned, its licence
/// as stated, and what a report says. Throws Error (bad input) for a report that measured_by()
/// refuses.
[[nodiscard]] pages::Page certificate_page(const std::string& path,
                                           const std::optional<CertifiedReport>& report,
                                           const std::optional<std::string>& licence);

}  // namespace understudy::cli
