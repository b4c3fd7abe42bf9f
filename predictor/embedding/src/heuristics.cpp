#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "et_schema/support/statistics.h"
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

Numbers norm_lookup_costs(const ShardTask& task) {
  Numbers sizes = costs_of(task, table_bytes);
  Numbers lookups = costs_of(task, lookup_cost);
  const double mean_size = et_schema::mean(sizes);
  const double mean_lookups = et_schema::mean(lookups);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    lookups[i] = (mean_lookups > 0 ? lookups[i] / mean_lookups : 0) + sizes[i] / mean_size;
  }
  return lookups;
}

/// The rank with the least cost that has room; where none has, the one with the least bytes.
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

std::vector<int> greedy(const ShardTask& task, int ranks, double memory_bytes,
                        const Numbers& costs) {
  std::vector<std::size_t> order(task.tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  Numbers cost_sums(static_cast<std::size_t>(ranks));
  Numbers byte_sums(static_cast<std::size_t>(ranks));
  std::vector<int> rank_of(task.tables.size());
  for (const std::size_t table : order) {
    const double bytes = held_bytes(task.tables[table].table);
    const std::size_t rank = best_rank(cost_sums, byte_sums, bytes, memory_bytes);
    cost_sums[rank] += costs[table];
    byte_sums[rank] += bytes;
    rank_of[table] = static_cast<int>(rank);
  }
  return rank_of;
}

std::vector<int> round_robin(std::size_t tables, int ranks) {
  std::vector<int> rank_of(tables);
  for (std::size_t i = 0; i < tables; ++i) {
    rank_of[i] = static_cast<int>(i % static_cast<std::size_t>(ranks));
  }
  return rank_of;
}

std::vector<int> chunks(std::size_t tables, int ranks) {
  std::vector<int> rank_of(tables);
  for (std::size_t i = 0; i < tables; ++i) {
    rank_of[i] = static_cast<int>(i * static_cast<std::size_t>(ranks) / tables);
  }
  return rank_of;
}

std::vector<int> at_random(std::size_t tables, int ranks, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<int> rank_of(tables);
  for (int& rank : rank_of) {
    rank = static_cast<int>(engine() % static_cast<std::uint64_t>(ranks));
  }
  return rank_of;
}

}  // namespace

std::vector<Plan> heuristic_plans(const ShardTask& task, int ranks, double memory_bytes,
                                  const ShardCosts& costs, std::uint64_t seed) {
  const std::size_t n = task.tables.size();
  const auto by = [&](const Numbers& of_tables) {
    return greedy(task, ranks, memory_bytes, of_tables);
  };
  std::vector<std::pair<std::string, std::vector<int>>> placed = {
      {"naive", round_robin(n, ranks)},
      {"naive_chunk", chunks(n, ranks)},
      {"random", at_random(n, ranks, seed)},
      {"size_greedy", by(costs_of(task, table_bytes))},
      {"lookup_greedy", by(costs_of(task, lookup_cost))},
      {"norm_lookup_greedy", by(norm_lookup_costs(task))},
      {"size_lookup_greedy", by(costs_of(task, size_lookup_cost))}};
  std::vector<Plan> plans;
  for (auto& [name, rank_of] : placed) {
    Plan& plan = plans.emplace_back();
    plan.name = name;
    plan.rank_of = std::move(rank_of);
    for (std::size_t table = 0; table < n; ++table) {
      plan.shards.push_back(whole(task, table));
    }
    evaluate(plan, task, ranks, memory_bytes, costs);
  }
  return plans;
}

}  // namespace understudy::predictor
