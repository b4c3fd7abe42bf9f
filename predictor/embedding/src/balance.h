#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
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

/// Returns the items' indices by decreasing value; equal items keep their order.
template <typename Item, typename Value = std::identity>
[[nodiscard]] std::vector<std::size_t> by_falling(const std::vector<Item>& items,
                                                  Value value = {}) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return std::invoke(value, items[i]); });
  return order;
}

/// Adds a shard's load to its rank, or subtracts it if `sign` is -1.
void add(RankLoad& rank, const ShardLoad& shard, double sign);

}  // namespace understudy::predictor
