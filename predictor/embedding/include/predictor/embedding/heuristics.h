#pragma once

#include <cstdint>
#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

/// The seven ways to place whole tables that Lin et al. compare (arXiv 2404.12674, section on
/// sharding; owensgroup/ml_perf_model). With E rows, D numbers a row, L lookups a bag:
/// - naive: table i on rank i mod n; naive_chunk: runs of equal length; random: by `seed`;
/// - greedy: tables by falling cost, each on the rank with the least sum so far that has room (the
///   least bytes where sums are equal); cost of size_greedy E D bytes, of lookup_greedy D L, of
///   size_lookup_greedy D L log10(E). The cost of norm_lookup_greedy was not found; ours is D L and
///   E D bytes, each divided by its mean over the tables, added.
/// Plans that put more on a rank than fits say so.
[[nodiscard]] std::vector<Plan> heuristic_plans(const ShardTask& task, int ranks,
                                                double memory_bytes, const ShardCosts& costs,
                                                std::uint64_t seed);

}  // namespace understudy::predictor
