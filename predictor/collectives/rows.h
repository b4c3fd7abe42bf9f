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
  std::int64_t bytes = 0;  ///< size by nccl-tests' definition (comm_traits.h, CommBytes)
  int ranks = 2;           ///< number of the group's ranks
  int nodes = 1;           ///< number of nodes that the ranks run on
  bool on_device = true;   ///< the tensors are on a GPU
  DType dtype = DType::kFloat32;
  double median_ns = 0;  ///< from the arrival of the last rank to the end
  double spread_ns = 0;  ///< half of p90 - p10 of the repetitions; 0: unknown
  std::size_t n = 1;     ///< number of repetitions
  std::string source;    ///< base name of the file
  bool operator==(const CollectiveRow&) const = default;
};

/// Key of calls that are repetitions of each other.
struct RepeatedCall {
  CommKind kind = CommKind::kAllReduce;
  std::int64_t bytes = 0;
  int ranks = 1;
  int nodes = 1;
  DType dtype = DType::kFloat32;
  auto operator<=>(const RepeatedCall&) const = default;
};
using RepetitionsNs = std::map<RepeatedCall, std::vector<double>>;

/// Returns a row for each key, on devices: median and spread of its times (at least one).
[[nodiscard]] std::vector<CollectiveRow> rows_of(const RepetitionsNs& calls,
                                                 const std::string& source);

/// Version of the file of collective rows.
inline constexpr int kCollectiveRowsVersion = 1;

/// Writes Understudy's own format: a header line, then a JSON line for each row (docs/formats.md).
[[nodiscard]] std::string to_json_lines(const std::vector<CollectiveRow>& rows);

/// Reads that format. Throws Error (bad input) with line and field if the format, a kind or an
/// element type is unknown, or a number is out of range.
[[nodiscard]] std::vector<CollectiveRow> parse_collective_row_lines(std::string_view text,
                                                                    const std::string& file);

/// Throws Error (bad input), naming `where`, unless the row is valid: a size of 0 or more, at least
/// one rank, no more nodes than ranks, a finite time above 0.
void check_row(const CollectiveRow& row, const std::string& file, const std::string& where);

/// Rows of a file, and the number of omitted lines.
struct ReadCollectives {
  std::vector<CollectiveRow> rows;
  /// Number of unusable lines by reason (docs/formats.md, "Collective rows").
  std::map<std::string, std::uint64_t> left_out = {};
};

/// Returns true if parse_collective_rows() can read the text. The content decides.
[[nodiscard]] bool is_collective_rows(std::string_view text);

/// Reads measured communication. The content decides the format:
/// - Understudy's own rows (to_json_lines());
/// - nccl-tests' text and its JSON (`-J`): out-of-place times, in-place if there are no others;
/// - PARAM's comm_replay, `replayed_trace/*.json` of one rank: the median of a call's repetitions.
///   It must run with --blocking, otherwise its times are those of posting;
/// - CSV tables of all-reduce whose first column is `size(B)`, times in ns. The number of ranks is
///   inferred from the bus bandwidth.
/// Throws Error (bad input) if the format is none of these, the file is damaged, no row is usable,
/// or a number is NaN.
[[nodiscard]] ReadCollectives parse_collective_rows(std::string_view text, const std::string& file);

}  // namespace understudy::predictor
