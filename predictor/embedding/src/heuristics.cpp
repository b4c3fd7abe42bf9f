#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "balance.h"
#include "predictor/embedding/search.h"

namespace understudy::predictor {
namespace {

double lookup_cost(const EmbeddingTable& table) {
  return static_cast<double>(table.dim) * table.pooling;
}

double size_lookup_cost(const EmbeddingTable& table) {
  return lookup_cost(table) * std::log10(static_cast<double>(table.rows));
}

/// Returns the items' indices by decreasing value; equal items keep their order.
std::vector<std::size_t> by_falling(const Numbers& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return values[i]; });
  return order;
}

}  // namespace

Placed greedy(const Placement& on, const std::vector<ShardLoad>& loads, const Numbers& costs,
              Prefer prefer) {
  std::vector<RankLoad> ranks(static_cast<std::size_t>(on.ranks));
  Numbers cost_sums(ranks.size());
  Placed placed{std::vector<int>(loads.size())};
  for (const std::size_t shard : by_falling(costs)) {
    const auto key_of = [&](std::size_t at) {
      const bool has_room = ranks[at].bytes + loads[shard].bytes <= on.memory_bytes;
      double first = has_room ? 0 : ranks[at].bytes;
      if (has_room && prefer == Prefer::kShortestStep) {
        add(ranks[at], loads[shard], 1);
        first = step_time(ranks, on.costs).ns();
        add(ranks[at], loads[shard], -1);
      }
      return std::tuple(!has_room, first, cost_sums[at], ranks[at].bytes);
    };
    std::size_t best = 0;
    auto least = key_of(best);
    for (std::size_t at = 1; at < ranks.size(); ++at) {
      if (const auto key = key_of(at); key < least) {
        least = key;
        best = at;
      }
    }
    placed.fits &= !std::get<0>(least);
    add(ranks[best], loads[shard], 1);
    cost_sums[best] += costs[shard];
    placed.rank_of[shard] = static_cast<int>(best);
  }
  return placed;
}

std::vector<Plan> heuristic_plans(const Placement& on) {
  const std::size_t n = on.task.tables.size();
  std::vector<int> in_turn;
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < n; ++i) {
    in_turn.push_back(static_cast<int>(i % static_cast<std::size_t>(on.ranks)));
    shards.push_back(whole(on.task, i));
  }
  const std::vector<ShardLoad> loads = loads_of(on, shards);
  const auto by = [&](double (*cost)(const EmbeddingTable&)) {
    const auto of_named = [cost](const NamedTable& named) { return cost(named.table); };
    return greedy(on, loads, costs_of(on.task.tables, of_named), Prefer::kLeastCost).rank_of;
  };
  std::vector<Plan> plans = {{"naive", shards, std::move(in_turn)},
                             {"size_greedy", shards, by(table_bytes)},
                             {"lookup_greedy", shards, by(lookup_cost)},
                             {"size_lookup_greedy", shards, by(size_lookup_cost)}};
  for (Plan& plan : plans) {
    evaluate(plan, on);
  }
  return plans;
}

}  // namespace understudy::predictor
