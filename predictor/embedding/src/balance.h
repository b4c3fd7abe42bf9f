#pragma once

#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

/// Shards on ranks, and the step's time.
struct Balanced {
  std::vector<int> rank_of;
  double ns = 0;
};

/// Moves shards, or makes two change places, as long as that makes the step shorter.
[[nodiscard]] Balanced balance(const std::vector<ShardLoad>& loads, std::vector<int> rank_of,
                               int ranks, double memory_bytes, const ShardCosts& costs);

/// Adds (or, with -1, takes away) a shard's part.
void add(RankLoad& rank, const ShardLoad& shard, double sign);

}  // namespace understudy::predictor
