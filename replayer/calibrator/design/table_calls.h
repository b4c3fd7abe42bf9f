#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"

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

/// Makes a program on the CPU that looks up all tables (a call each), then updates each by its
/// sparse gradients (two calls each). `reuse` is by table.
[[nodiscard]] et_schema::Program make_program(const TableCall& call,
                                              const std::vector<et_schema::Reuse>& reuse);

}  // namespace understudy::calibrator
