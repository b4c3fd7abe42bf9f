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

double link_bytes(const std::vector<RankLoad>& ranks, double RankLoad::*part) {
  double sum = 0;
  for (const RankLoad& rank : ranks) {
    sum += rank.*part;
  }
  const auto others = static_cast<double>(ranks.size() - 1);
  double most = 0;
  for (const RankLoad& rank : ranks) {
    most = std::max({most, others * (rank.*part), sum - rank.*part});
  }
  return ranks.size() > 1 ? most : 0;
}

StepTime step_time(const std::vector<RankLoad>& ranks, const ShardCosts& costs) {
  double forward = 0;
  double backward = 0;
  for (const RankLoad& rank : ranks) {
    forward = std::max(forward, rank.forward);
    backward = std::max(backward, rank.backward);
  }
  StepTime time;
  time.forward = costs.embedding.time(forward, Direction::kForward);
  time.backward = costs.embedding.time(backward, Direction::kBackward);
  if (ranks.size() > 1) {
    const auto count = static_cast<int>(ranks.size());
    time.all_to_all = costs.all_to_all(link_bytes(ranks, &RankLoad::output_bytes), count);
    if (const double bytes = link_bytes(ranks, &RankLoad::index_bytes); bytes > 0) {
      time.indices = costs.all_to_all(bytes, count);
    }
  }
  return time;
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
