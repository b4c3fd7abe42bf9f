#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
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

/// Draws tables of 100 to 20 million rows, 32 to 256 columns, 1 to 20 or, if heavy, 20 to 200
/// lookups.
inline ShardTask drawn_task(std::size_t count, bool is_heavy, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto log_uniform = [&engine](double low, double high) {
    const double share = static_cast<double>(engine() >> 11U) / 9007199254740992.0;  // 2^53
    return low * std::pow(high / low, share);
  };
  engine.discard(1);
  ShardTask task;
  while (task.tables.size() < count) {
    NamedTable& drawn = task.tables.emplace_back();
    drawn.table.rows = std::llround(log_uniform(100, 2e7));
    drawn.table.dim = std::int64_t{32} << engine() % 4;
    drawn.table.pooling = is_heavy ? log_uniform(20, 200) : log_uniform(1, 20);
    engine.discard(1);
  }
  return task;
}

}  // namespace understudy::predictor
