#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// The rank that a file name tells: `rank-3.json`, `dlrm_eg_3.json`, `trace.3.et.json.gz`,
/// `worker3_…`. `names` are all files of the input: the rank is the one number that differs between
/// them. One file alone is rank 0 unless its name says "rank". Throws Error (bad input) on an
/// ambiguity, listing the files.
[[nodiscard]] std::vector<int> ranks_from_names(const std::vector<std::string>& names);

/// The traces of a job, and what lay beside them.
struct TraceSet {
  std::vector<Trace> traces;        ///< sorted by rank; ranks are 0 … n-1 unless gaps are allowed
  std::vector<std::string> kineto;  ///< Kineto files of folders and archives: not read
  /// Of the given paths those that hold Kineto files and no trace, while others hold traces.
  std::vector<std::string> profiles;
  std::vector<std::string> others;  ///< other JSON files of folders and archives: not read
};

/// Whether ranks may be missing between those that are given.
enum class RankGaps : std::uint8_t { kRefused, kAllowed };

/// Makes a trace of a Kineto profile, whose uncompressed file is given. The rank that it tells, by
/// Trace::rank, counts where several profiles tell different ones.
using TraceOfProfile = std::function<Trace(std::string_view content, const std::string& file)>;

/// Reads the traces of all ranks as read_traces() does, and names the files that it left out. What
/// a capture.json beside them says of where they are from is in Trace::capture; one that cannot be
/// read says nothing. Where there is no trace at all, but Kineto profiles, `of_profile` makes the
/// traces of them, if it is given.
[[nodiscard]] TraceSet read_trace_set(const std::vector<std::string>& paths,
                                      const ReadLimits& limits = process_limits(),
                                      RankGaps gaps = RankGaps::kRefused,
                                      const TraceOfProfile& of_profile = {});

/// Reads the traces of all ranks from files, archives or folders, sorted by rank; ranks are 0 …
/// n-1; one file alone is rank 0 whatever its name says. Throws Error (bad input): those of
/// parse_trace and read_input_files, a missing rank, two files for one rank, no trace at all.
[[nodiscard]] std::vector<Trace> read_traces(const std::vector<std::string>& paths,
                                             const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
