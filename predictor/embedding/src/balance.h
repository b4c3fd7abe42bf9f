#pragma once

#include <algorithm>
#include <cstddef>
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

/// The largest and the smallest loads of ranks, part by part.
struct LoadRange {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  RankLoad most;
  RankLoad least = {kNone, kNone, kNone, kNone, kNone};
  void add(const RankLoad& rank) {
    for (double RankLoad::*part : {&RankLoad::forward, &RankLoad::backward, &RankLoad::output_bytes,
                                   &RankLoad::index_bytes}) {
      most.*part = std::max(most.*part, rank.*part);
      least.*part = std::min(least.*part, rank.*part);
    }
  }
};

/// Returns the bytes of the busiest link: of the rank that sends most, or of the one that receives
/// most of others. `most`, `all` and `least`: bytes of ranks.
[[nodiscard]] inline double busiest_link(double most, double all, double least, std::size_t ranks) {
  return ranks > 1 ? std::max(static_cast<double>(ranks - 1) * most, all - least) : 0;
}

}  // namespace understudy::predictor
