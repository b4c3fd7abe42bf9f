#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

/// Shards on ranks, and the step's time.
struct Balanced {
  std::vector<int> rank_of;
  double ns = 0;
};

/// Moves or swaps shards between ranks as long as that shortens the step. One that takes longer
/// than `most_ns` stays as it is.
[[nodiscard]] Balanced balance(const Placement& on, const std::vector<ShardLoad>& loads,
                               std::vector<int> rank_of,
                               double most_ns = std::numeric_limits<double>::infinity());

using Numbers = std::vector<double>;

/// Returns the cost of each item.
[[nodiscard]] Numbers costs_of(const auto& items, const auto& cost) {
  Numbers costs;
  for (const auto& item : items) {
    costs.push_back(cost(item));
  }
  return costs;
}

enum class Prefer : std::uint8_t {
  kLeastCost,    ///< the rank with the smallest sum of costs
  kShortestStep  ///< the rank that makes the step shortest, then that
};

struct Placed {
  std::vector<int> rank_of;
  bool fits = true;  ///< no rank exceeds its memory
};

/// Places shards by decreasing cost, equal ones in order, each on the preferred rank with room, on
/// ties on the one with the fewest bytes. Without room on any, takes the one with the fewest bytes.
[[nodiscard]] Placed greedy(const Placement& on, const std::vector<ShardLoad>& loads,
                            const Numbers& costs, Prefer prefer);

[[nodiscard]] std::vector<ShardLoad> loads_of(const Placement& on,
                                              const std::vector<Shard>& shards);

/// Adds a shard's load to its rank, or subtracts it if `sign` is -1.
void add(RankLoad& rank, const ShardLoad& shard, double sign);

}  // namespace understudy::predictor
