#include <algorithm>
#include <cmath>
#include <utility>

#include "balance.h"
#include "predictor/embedding/search.h"

namespace understudy::predictor {
namespace {

using Numbers = std::vector<double>;

Numbers costs_of(const ShardTask& task, double (*cost)(const EmbeddingTable&)) {
  Numbers costs;
  for (const NamedTable& table : task.tables) {
    costs.push_back(cost(table.table));
  }
  return costs;
}

double lookup_cost(const EmbeddingTable& table) {
  return static_cast<double>(table.dim) * table.pooling;
}

double size_lookup_cost(const EmbeddingTable& table) {
  return lookup_cost(table) * std::log10(static_cast<double>(table.rows));
}

/// Returns the cheapest rank that has room, otherwise the one with the fewest bytes.
std::size_t best_rank(const Numbers& cost_sums, const Numbers& byte_sums, double bytes,
                      double memory_bytes) {
  std::size_t best = cost_sums.size();
  for (std::size_t rank = 0; rank < cost_sums.size(); ++rank) {
    const bool has_room = byte_sums[rank] + bytes <= memory_bytes;
    const auto key = [&](std::size_t of) { return std::pair(cost_sums[of], byte_sums[of]); };
    if (has_room && (best == cost_sums.size() || key(rank) < key(best))) {
      best = rank;
    }
  }
  return best < cost_sums.size()
             ? best
             : static_cast<std::size_t>(std::ranges::min_element(byte_sums) - byte_sums.begin());
}

std::vector<int> greedy(const Placement& on, const Numbers& costs) {
  Numbers cost_sums(static_cast<std::size_t>(on.ranks));
  Numbers byte_sums(static_cast<std::size_t>(on.ranks));
  std::vector<int> rank_of(costs.size());
  for (const std::size_t table : by_falling(costs)) {
    const double bytes = held_bytes(on.task.tables[table].table);
    const std::size_t rank = best_rank(cost_sums, byte_sums, bytes, on.memory_bytes);
    cost_sums[rank] += costs[table];
    byte_sums[rank] += bytes;
    rank_of[table] = static_cast<int>(rank);
  }
  return rank_of;
}

}  // namespace

std::vector<Plan> heuristic_plans(const Placement& on) {
  const std::size_t n = on.task.tables.size();
  std::vector<int> in_turn;
  for (std::size_t i = 0; i < n; ++i) {
    in_turn.push_back(static_cast<int>(i % static_cast<std::size_t>(on.ranks)));
  }
  std::vector<std::pair<std::string, std::vector<int>>> placed = {
      {"naive", std::move(in_turn)},
      {"size_greedy", greedy(on, costs_of(on.task, table_bytes))},
      {"lookup_greedy", greedy(on, costs_of(on.task, lookup_cost))},
      {"size_lookup_greedy", greedy(on, costs_of(on.task, size_lookup_cost))}};
  std::vector<Plan> plans;
  for (auto& [name, rank_of] : placed) {
    Plan& plan = plans.emplace_back();
    plan.name = name;
    plan.rank_of = std::move(rank_of);
    for (std::size_t table = 0; table < n; ++table) {
      plan.shards.push_back(whole(on.task, table));
    }
    evaluate(plan, on);
  }
  return plans;
}

}  // namespace understudy::predictor
