#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"

namespace understudy::et_schema {

/// Version of the format; see bench.h for the rule.
inline constexpr int kCollectiveRowsVersion = 1;

/// A communication of all ranks of a group, as far as its time depends on it. Equal calls are
/// repetitions of each other.
struct CollectiveCall {
  CommKind kind = CommKind::kAllReduce;
  std::int64_t bytes = 0;  ///< size by nccl-tests' definition (comm_traits.h, CommBytes)
  int ranks = 2;           ///< number of the group's ranks
  int nodes = 1;           ///< number of nodes that the ranks run on
  bool on_device = true;   ///< the tensors are on a GPU
  DType dtype = DType::kFloat32;
  auto operator<=>(const CollectiveCall&) const = default;
};

/// One measured communication.
struct CollectiveRow : CollectiveCall {
  double median_ns = 0;      ///< from the arrival of the last rank to the end
  double spread_ns = 0;      ///< half of p90 - p10 of the repetitions; 0: unknown
  std::size_t n = 1;         ///< number of repetitions
  std::string source;        ///< base name of the file
  std::string device = {};   ///< the card's name; empty: unknown, or a host
  std::string network = {};  ///< between nodes, as NCCL names it; empty: unknown
  bool operator==(const CollectiveRow&) const = default;
};

/// Returns the row of a call whose repetitions (at least one) took these times.
[[nodiscard]] CollectiveRow row_of(const CollectiveCall& call, std::vector<double> times_ns,
                                   const std::string& source);

/// Times of the repetitions of each call, at least one.
using RepetitionsNs = std::map<CollectiveCall, std::vector<double>>;
[[nodiscard]] std::vector<CollectiveRow> rows_of(const RepetitionsNs& calls,
                                                 const std::string& source);

/// Adds a receive for each send: every message from a rank is received by another.
void add_receives(std::vector<CollectiveRow>& rows);

/// Returns JSON lines as described in docs/formats.md.
[[nodiscard]] std::string to_json_lines(const std::vector<CollectiveRow>& rows);

/// Parses the result of to_json_lines(). Times may be missing (0) unless `needs_times`. Throws
/// Error (bad input) with line and field if the format, a kind or an element type is unknown, or a
/// number is out of range.
[[nodiscard]] std::vector<CollectiveRow> parse_collective_row_lines(std::string_view text,
                                                                    const std::string& file,
                                                                    bool needs_times = true);

/// Throws Error (bad input), naming `where`, unless the row is valid: a size of 0 or more, at least
/// one rank, no more nodes than ranks, a finite time above 0 (or of 0 unless `needs_times`).
void check_row(const CollectiveRow& row, const std::string& file, const std::string& where,
               bool needs_times = true);

}  // namespace understudy::et_schema
