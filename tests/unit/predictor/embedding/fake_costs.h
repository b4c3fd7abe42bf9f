#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

inline constexpr double kAnyMemory = std::numeric_limits<double>::infinity();

/// A platform that is easily reckoned with: a nanosecond a lookup, three backward; an exchange
/// takes a microsecond and a nanosecond a byte.
inline ShardCosts plain_costs() {
  return {{[](const EmbeddingTable& table, double batch, Direction direction) {
             return batch * table.pooling * (direction == Direction::kForward ? 1 : 3);
           },
           [](double load, Direction) { return known(load, "plain"); }},
          [](double link_bytes, int) { return known(1000 + link_bytes, "plain"); }};
}

/// Of a call over several tables.
inline Estimate time_of(const EmbeddingCosts& costs, const EmbeddingCall& call) {
  double load = 0;
  for (const EmbeddingTable& table : call.tables) {
    load += costs.load(table, static_cast<double>(call.batch), call.direction);
  }
  return costs.time(load, call.direction);
}

inline NamedTable table(const char* name, std::int64_t rows, std::int64_t dim, double pooling) {
  return {name, {.rows = rows, .dim = dim, .pooling = pooling}};
}

}  // namespace understudy::predictor
