#include "predictor/embedding/plan.h"

#include <algorithm>

#include "balance.h"
#include "et_schema/base/enum_names.h"

namespace understudy::predictor {

std::string_view to_string(Split split) {
  return et_schema::EnumNames<Split::kRows>("none", "columns", "rows")[split];
}

Shard whole(const ShardTask& task, std::size_t table) {
  return {table, Split::kNone, 0, task.tables[table].table.rows};
}

EmbeddingTable table_of(const ShardTask& task, const Shard& shard) {
  EmbeddingTable table = task.tables[shard.table].table;
  const std::int64_t part = shard.end - shard.begin;
  if (shard.split == Split::kColumns) {
    table.dim = part;
  } else if (shard.split == Split::kRows) {
    // Parts by rows share the lookups. The reuse of each row does not change.
    table.pooling *= static_cast<double>(part) / static_cast<double>(table.rows);
    table.rows = part;
  }
  return table;
}

ShardLoad load_of(const Placement& on, const Shard& shard) {
  const EmbeddingTable table = table_of(on.task, shard);
  constexpr double kIndexBytes = 8;  // int64, for lookups and offsets of bags
  const auto batch = static_cast<double>(on.task.batch);
  return {.forward = on.costs.embedding.load(table, batch * on.ranks, Direction::kForward),
          .backward = on.costs.embedding.load(table, batch * on.ranks, Direction::kBackward),
          .bytes = held_bytes(table),
          .output_bytes =
              batch * static_cast<double>(table.dim) * static_cast<double>(table.item_bytes),
          .index_bytes = on.task.has_local_indices ? 0 : batch * (table.pooling + 1) * kIndexBytes};
}

std::vector<ShardLoad> loads_of(const Placement& on, const std::vector<Shard>& shards) {
  std::vector<ShardLoad> loads;
  for (const Shard& shard : shards) {
    loads.push_back(load_of(on, shard));
  }
  return loads;
}

SlowestLoads slowest_loads(const std::vector<RankLoad>& ranks) {
  LoadRange range;
  RankLoad sum;
  for (const RankLoad& rank : ranks) {
    range.add(rank);
    add(sum, rank, 1);
  }
  const auto link = [&](double RankLoad::*part) {
    return busiest_link(range.most.*part, sum.*part, range.least.*part, ranks.size());
  };
  return {range.most.forward, range.most.backward, link(&RankLoad::output_bytes),
          link(&RankLoad::index_bytes)};
}

StepTime step_time(const SlowestLoads& loads, int ranks, const ShardCosts& costs) {
  StepTime time;
  time.forward = costs.embedding.time(loads.forward, Direction::kForward);
  time.backward = costs.embedding.time(loads.backward, Direction::kBackward);
  if (ranks > 1) {
    time.all_to_all = costs.all_to_all(loads.output_link_bytes, ranks);
    if (loads.index_link_bytes > 0) {
      time.indices = costs.all_to_all(loads.index_link_bytes, ranks);
    }
  }
  return time;
}

StepTime step_time(const std::vector<RankLoad>& ranks, const ShardCosts& costs) {
  return step_time(slowest_loads(ranks), static_cast<int>(ranks.size()), costs);
}

void evaluate(Plan& plan, const Placement& on) {
  plan.ranks.assign(static_cast<std::size_t>(on.ranks), {});
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    add(plan.ranks[static_cast<std::size_t>(plan.rank_of[i])], load_of(on, plan.shards[i]), 1);
  }
  plan.fits = std::ranges::all_of(
      plan.ranks, [&](const RankLoad& rank) { return rank.bytes <= on.memory_bytes; });
  plan.rank_times.clear();
  for (const RankLoad& rank : plan.ranks) {
    plan.rank_times.push_back({on.costs.embedding.time(rank.forward, Direction::kForward),
                               on.costs.embedding.time(rank.backward, Direction::kBackward)});
  }
  plan.time = step_time(plan.ranks, on.costs);
}

}  // namespace understudy::predictor
