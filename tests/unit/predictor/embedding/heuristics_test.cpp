#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fake_costs.h"
#include "predictor/embedding/search.h"

namespace understudy::predictor {
namespace {

/// Sizes fall, lookups rise.
ShardTask five_tables() {
  return {{table("a", 1000000, 16, 1), table("b", 300000, 16, 2), table("c", 10000, 16, 4),
           table("d", 1000, 16, 8), table("e", 100, 16, 16)},
          10};
}

std::map<std::string, Plan> plans_of(const ShardTask& task, int ranks, double memory_bytes) {
  std::map<std::string, Plan> plans;
  for (Plan& plan : heuristic_plans({task, ranks, memory_bytes, plain_costs()})) {
    plans[plan.name] = std::move(plan);
  }
  return plans;
}

TEST(Heuristics, PlaceAsTheirNamesSay) {
  auto plans = plans_of(five_tables(), 2, kAnyMemory);
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_EQ(plans["naive"].rank_of, (std::vector<int>{0, 1, 0, 1, 0}));
  // a alone on rank 0, until the others are as large: never.
  EXPECT_EQ(plans["size_greedy"].rank_of, (std::vector<int>{0, 1, 1, 1, 1}));
  // 16 | 8 + 4 + 2 + 1.
  EXPECT_EQ(plans["lookup_greedy"].rank_of, (std::vector<int>{1, 1, 1, 1, 0}));
  // D L log10 E / 16: e 32 | d 24, c 16 to d, b 11 to e, a 6 to d.
  EXPECT_EQ(plans["size_lookup_greedy"].rank_of, (std::vector<int>{1, 0, 1, 1, 0}));
}

/// Some tables of public index data are met by no sample.
TEST(Heuristics, TablesThatNobodyLooksUpTakeRoom) {
  const ShardTask task{{table("a", 1000, 16, 0), table("b", 500, 16, 0), table("c", 400, 16, 0)},
                       10};
  for (const auto& [name, plan] : plans_of(task, 2, kAnyMemory)) {
    EXPECT_EQ(plan.time.forward.ns, 0) << name;
    EXPECT_GT(plan.time.all_to_all.ns, 0) << name;
  }
  auto plans = plans_of(task, 2, kAnyMemory);
  EXPECT_EQ(plans["size_greedy"].rank_of, (std::vector<int>{0, 1, 1}));
}

TEST(Heuristics, GreedyLeavesRanksWithoutRoom) {
  // By lookups e would be alone on rank 0; a fits nowhere but there.
  const double memory = table_bytes(five_tables().tables[0].table) + 10000;
  auto plans = plans_of(five_tables(), 2, memory);
  EXPECT_EQ(plans["lookup_greedy"].rank_of[0], 0);
  EXPECT_TRUE(plans["lookup_greedy"].fits);
  EXPECT_FALSE(plans["naive"].fits);
}

TEST(Plans, AStepWaitsForTheSlowestOfEachPhase) {
  auto plans = plans_of(five_tables(), 2, kAnyMemory);
  const Plan& plan = plans["lookup_greedy"];
  // 20 samples x (16 | 15) lookups; four tables send 10 x 16 x 4 bytes each, one gets them.
  EXPECT_EQ(plan.time.forward.ns, 20 * 16);
  EXPECT_EQ(plan.time.backward.ns, 3 * 20 * 16);
  EXPECT_EQ(slowest_loads(plan.ranks).output_link_bytes, 4 * 640);
  EXPECT_EQ(plan.time.all_to_all.ns, 1000 + 4 * 640);
  // Before that each rank gets the other's 10 samples: 15 lookups and 4 offsets of 8 bytes, or 17.
  EXPECT_EQ(plan.time.indices.ns, 1000 + 10 * 19 * 8);
  EXPECT_EQ(plan.time.ns(), 2520 + 4 * 320 + 2 * 3560);
  EXPECT_EQ(plan.rank_times[1].forward.ns, 300);
}

TEST(Plans, OneRankExchangesNothing) {
  auto plans = plans_of(five_tables(), 1, kAnyMemory);
  EXPECT_EQ(plans["naive"].time.all_to_all.ns, 0);
  EXPECT_EQ(slowest_loads(plans["naive"].ranks).output_link_bytes, 0);
  EXPECT_EQ(plans["naive"].time.indices.ns, 0);
}

TEST(Plans, IndicesThatEachRankReadsAreNotExchanged) {
  ShardTask task = five_tables();
  task.has_local_indices = true;
  EXPECT_EQ(plans_of(task, 2, kAnyMemory)["lookup_greedy"].time.indices.ns, 0);
}

TEST(Plans, TheOptimizersStateTakesRoom) {
  ShardTask task = five_tables();
  const double memory = held_bytes(task.tables[0].table) + 10000;
  EXPECT_TRUE(plans_of(task, 2, memory)["lookup_greedy"].fits);
  for (NamedTable& table : task.tables) {
    table.table.state_bytes = 8;  // Adam
  }
  EXPECT_EQ(held_bytes(task.tables[0].table), 3 * table_bytes(task.tables[0].table));
  EXPECT_FALSE(plans_of(task, 2, memory)["lookup_greedy"].fits);
}

TEST(Plans, PartsOfTables) {
  const ShardTask task = five_tables();
  const EmbeddingTable columns = table_of(task, {1, Split::kColumns, 4, 12});
  EXPECT_EQ(columns.dim, 8);
  EXPECT_EQ(columns.rows, 300000);
  EXPECT_EQ(columns.pooling, 2);
  const EmbeddingTable rows = table_of(task, {1, Split::kRows, 0, 75000});
  EXPECT_EQ(rows.dim, 16);
  EXPECT_EQ(rows.rows, 75000);
  EXPECT_EQ(rows.pooling, 0.5);
  EXPECT_EQ(table_of(task, whole(task, 1)), task.tables[1].table);
}

}  // namespace
}  // namespace understudy::predictor
