#pragma once

#include <cstdint>
#include <vector>

namespace understudy::calibrator {

/// A float32 embedding table, and the lookups of a call in it.
struct DrawnTable {
  std::int64_t rows = 1;
  std::int64_t dim = 1;      ///< elements in a row
  std::int64_t pooling = 1;  ///< lookups per bag
  double skew = 0;           ///< Zipf's exponent of the lookups; 0: uniform
  bool operator==(const DrawnTable&) const = default;
};

/// One call over several tables.
struct TableCall {
  std::int64_t batch = 1;  ///< bags per table
  std::vector<DrawnTable> tables;
  bool operator==(const TableCall&) const = default;
};

/// Limit of the bytes of all tables of a call.
inline constexpr std::int64_t kMostTableBytes = std::int64_t{512} << 20U;

/// Draws call number `number` of a design over batch, rows, dimensions, pooling and skew,
/// independently of other calls. A call has one to eight tables, each from the size of caches to
/// 256 MiB. Equal numbers give equal calls.
[[nodiscard]] TableCall draw_table_call(std::uint64_t number);

/// Draws the rows that a call looks up, bag by bag. Frequent rows are spread over the table.
[[nodiscard]] std::vector<std::int64_t> draw_lookups(const DrawnTable& table, std::int64_t batch,
                                                     std::uint64_t seed);

}  // namespace understudy::calibrator
