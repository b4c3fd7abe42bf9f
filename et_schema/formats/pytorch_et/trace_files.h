#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Infers ranks from file names: `rank-3.json`, `dlrm_eg_3.json`, `trace.3.et.json.gz`,
/// `worker3_…`. `names` must be all files of the input; the rank is the only number that differs
/// between them. A single file is rank 0 unless its name contains "rank". Throws Error (bad input)
/// with the names if they are ambiguous.
[[nodiscard]] std::vector<int> ranks_from_names(const std::vector<std::string>& names);

/// The traces of a job, and the other files of the input.
struct TraceSet {
  std::vector<Trace> traces;  ///< sorted by rank; ranks are 0 … n-1 unless gaps are allowed
  /// Kineto files in folders and archives, not read; of profiles alone, those that are no rank's.
  std::vector<std::string> kineto;
  /// Input paths that hold Kineto files but no traces, if other paths hold traces.
  std::vector<std::string> profiles;
  std::vector<std::string> others;  ///< other JSON files in folders and archives; not read
};

/// Whether gaps between ranks are allowed.
enum class RankGaps : std::uint8_t { kRefused, kAllowed };

/// Makes a trace from the uncompressed file of a Kineto profile. If all profiles of an input have
/// different Trace::rank, these ranks are used.
using TraceOfProfile = std::function<Trace(std::string_view content, const std::string& file)>;

/// Reads the traces of all ranks as read_traces() does, and lists the files that were skipped. Sets
/// Trace::capture from a capture.json beside the traces; ignores one that cannot be read. If the
/// input has Kineto profiles but no traces, `of_profile` makes the traces, if set.
[[nodiscard]] TraceSet read_trace_set(const std::vector<std::string>& paths,
                                      const ReadLimits& limits = process_limits(),
                                      RankGaps gaps = RankGaps::kRefused,
                                      const TraceOfProfile& of_profile = {});

/// Reads the traces of all ranks from files, archives or folders, sorted by rank. Ranks must be 0 …
/// n-1; a single file is always rank 0. Throws Error (bad input) as parse_trace() and
/// read_input_files() do, or if a rank is missing, two files have one rank, or no trace exists.
[[nodiscard]] std::vector<Trace> read_traces(const std::vector<std::string>& paths,
                                             const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
