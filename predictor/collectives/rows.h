#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"

namespace understudy::predictor {

using et_schema::CommKind;
using et_schema::DType;

/// One measured communication.
struct CollectiveRow {
  CommKind kind = CommKind::kAllReduce;
  std::int64_t bytes = 0;  ///< nccl-tests' size of the call (comm_traits.h, CommBytes)
  int ranks = 2;           ///< of the group
  int nodes = 1;           ///< that these ranks are on
  bool on_device = true;   ///< the tensors lie on a GPU
  DType dtype = DType::kFloat32;
  double median_ns = 0;  ///< from the arrival of the last rank to the end
  double spread_ns = 0;  ///< half of p90 - p10 of the repetitions; 0: not known
  std::size_t n = 1;     ///< repetitions
  std::string source;    ///< base name of the file that it comes from
  bool operator==(const CollectiveRow&) const = default;
};

/// Calls that are repetitions of each other.
struct RepeatedCall {
  CommKind kind = CommKind::kAllReduce;
  std::int64_t bytes = 0;
  int ranks = 1;
  int nodes = 1;
  DType dtype = DType::kFloat32;
  auto operator<=>(const RepeatedCall&) const = default;
};
using RepetitionsNs = std::map<RepeatedCall, std::vector<double>>;

/// A row for each, all on devices: the median of its times, at least one, and how they spread.
[[nodiscard]] std::vector<CollectiveRow> rows_of(const RepetitionsNs& calls,
                                                 const std::string& source);

/// Version of the rows' own file.
inline constexpr int kCollectiveRowsVersion = 1;

/// As a file of our own: a header line, then a JSON line a row (docs/formats.md).
[[nodiscard]] std::string to_json_lines(const std::vector<CollectiveRow>& rows);

/// Reads it back. Throws Error (bad input) with line and field: not this format, a kind or element
/// type that is not known, numbers outside of their range.
[[nodiscard]] std::vector<CollectiveRow> parse_collective_row_lines(std::string_view text,
                                                                    const std::string& file);

/// Throws Error (bad input), naming `where`, unless the row can be a measurement: a size of 0 or
/// more, one rank or more, no more nodes than ranks, a finite time above 0.
void check_row(const CollectiveRow& row, const std::string& file, const std::string& where);

/// What a file held.
struct ReadCollectives {
  std::vector<CollectiveRow> rows;
  /// Lines that are no usable measurement, by reason (docs/formats.md, "Collective rows").
  std::map<std::string, std::uint64_t> left_out = {};
};

/// True of a file that parse_collective_rows() reads, told by its content.
[[nodiscard]] bool is_collective_rows(std::string_view text);

/// Reads measured communication, told by content:
/// - rows of our own (rows.h);
/// - nccl-tests' text and its JSON (`-J`): the out-of-place time, in-place where there is no other;
/// - PARAM's comm_replay, `replayed_trace/*.json` of one rank: the median of a call's repetitions;
///   run it with --blocking, or it holds times of posting;
/// - CSV tables of all-reduce whose first column is `size(B)`, times in ns, the number of ranks
///   told by their own bus bandwidth.
/// Throws Error (bad input): none of these, a damaged file, no usable row, NaN.
[[nodiscard]] ReadCollectives parse_collective_rows(std::string_view text, const std::string& file);

}  // namespace understudy::predictor
