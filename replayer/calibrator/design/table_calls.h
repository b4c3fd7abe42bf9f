#pragma once

#include <cstdint>
#include <vector>

namespace understudy::calibrator {

/// A table of embeddings in float32, and what a call looks up in it.
struct DrawnTable {
  std::int64_t rows = 1;
  std::int64_t dim = 1;      ///< numbers in a row
  std::int64_t pooling = 1;  ///< lookups a bag
  double skew = 0;           ///< Zipf's exponent of the lookups; 0: uniform
  bool operator==(const DrawnTable&) const = default;
};

/// One call over several tables.
struct TableCall {
  std::int64_t batch = 1;  ///< bags of each table
  std::vector<DrawnTable> tables;
  bool operator==(const TableCall&) const = default;
};

/// No call has more bytes of tables.
inline constexpr std::int64_t kMostTableBytes = std::int64_t{512} << 20U;

/// Call number `number` of a design over batch, rows, dimensions, pooling and skew, each call drawn
/// by itself: one to eight tables, from caches' sizes to 256 MiB a table. Equal numbers give equal
/// calls.
[[nodiscard]] TableCall draw_table_call(std::uint64_t number);

/// The rows that a call looks up, bag by bag. Rows that are met often lie anywhere in the table.
[[nodiscard]] std::vector<std::int64_t> draw_lookups(const DrawnTable& table, std::int64_t batch,
                                                     std::uint64_t seed);

}  // namespace understudy::calibrator
