#include "predictor/embedding/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "balance.h"
#include "fake_costs.h"
#include "predictor/embedding/task.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

/// The shortest step of all placements of whole tables.
double best_of_all(const ShardTask& task, int ranks, double memory_bytes) {
  Plan plan;
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    plan.shards.push_back(whole(task, i));
  }
  plan.rank_of.assign(task.tables.size(), 0);
  double best = kAnyMemory;
  while (true) {
    evaluate(plan, {task, ranks, memory_bytes, plain_costs()});
    best = plan.fits ? std::min(best, plan.time.ns()) : best;
    std::size_t i = 0;
    while (i < plan.rank_of.size() && ++plan.rank_of[i] == ranks) {
      plan.rank_of[i++] = 0;
    }
    if (i == plan.rank_of.size()) {
      return best;
    }
  }
}

class Search : public testing::TestWithParam<int> {};

TEST_P(Search, IsNearTheBestOfAllPlacements) {
  const int ranks = GetParam();
  const std::size_t count = ranks <= 2 ? 8 : ranks <= 4 ? 6 : 4;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    ShardTask task = drawn_task(count, false, seed);
    task.batch = 32;
    const Plan plan = search_plan({task, ranks, kAnyMemory, plain_costs()}, {});
    const double best = best_of_all(task, ranks, kAnyMemory);
    EXPECT_GE(plan.time.ns(), best * (1 - 1e-9));
    EXPECT_LE(plan.time.ns(), best * 1.03) << seed;
  }
}

TEST_P(Search, IsNeverLongerThanAHeuristic) {
  const int ranks = GetParam();
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const ShardTask task = drawn_task(static_cast<std::size_t>(13 * ranks), seed % 2 == 0, seed);
    const auto heuristics = heuristic_plans({task, ranks, kAnyMemory, plain_costs()});
    const Plan plan = search_plan({task, ranks, kAnyMemory, plain_costs()}, heuristics);
    for (const Plan& heuristic : heuristics) {
      EXPECT_LE(plan.time.ns(), heuristic.time.ns() * (1 + 1e-9)) << heuristic.name;
    }
    ASSERT_EQ(plan.rank_of.size(), task.tables.size());
    EXPECT_GE(std::ranges::min(plan.rank_of), 0);
    EXPECT_LT(std::ranges::max(plan.rank_of), ranks);
  }
}

TEST_P(Search, KeepsToTheMemory) {
  const int ranks = GetParam();
  const ShardTask task = drawn_task(static_cast<std::size_t>(13 * ranks), true, 1);
  double sum = 0;
  for (const NamedTable& table : task.tables) {
    sum += table_bytes(table.table);
  }
  const double memory = sum / ranks * 1.05;
  const Plan plan = search_plan({task, ranks, memory, plain_costs()}, {});
  EXPECT_TRUE(plan.fits);
  for (const RankLoad& rank : plan.ranks) {
    EXPECT_LE(rank.bytes, memory);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Search, testing::Values(1, 2, 3, 4, 8));

TEST(Balance, KnowsTheStepItLeaves) {
  const ShardTask task = drawn_task(52, true, 5);
  const ShardCosts costs = plain_costs();
  std::vector<ShardLoad> loads;
  std::vector<int> rank_of;
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    loads.push_back(load_of({task, 4, kAnyMemory, costs}, whole(task, i)));
    rank_of.push_back(static_cast<int>(i % 4));
  }
  const auto time_of_ranks = [&](const std::vector<int>& rank_of_shard) {
    std::vector<RankLoad> ranks(4);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      add(ranks[static_cast<std::size_t>(rank_of_shard[i])], loads[i], 1);
    }
    return step_time(ranks, costs).ns();
  };
  const Balanced balanced = balance({task, 4, kAnyMemory, costs}, loads, rank_of);
  EXPECT_NEAR(balanced.ns / time_of_ranks(balanced.rank_of), 1, 1e-12);
  EXPECT_LT(balanced.ns, 0.99 * time_of_ranks(rank_of));
}

std::vector<Shard> shards_of(const ShardTask& task, double memory_bytes) {
  const Plan plan = search_plan({task, 4, memory_bytes, plain_costs()}, {});
  EXPECT_TRUE(plan.fits);
  return plan.shards;
}

TEST(Splits, ATableThatFitsOnNoRankIsCutByColumns) {
  const ShardTask task{{table("wide", 1000, 64, 4), table("small", 10, 8, 1)}, 8};
  EXPECT_EQ(shards_of(task, 1000 * 25 * 4), (std::vector<Shard>{{0, Split::kColumns, 0, 24},
                                                                {0, Split::kColumns, 24, 48},
                                                                {0, Split::kColumns, 48, 64},
                                                                {1, Split::kNone, 0, 10}}));
}

TEST(Splits, AndByRowsWhereFourColumnsDoNotFit) {
  const ShardTask task{{table("long", 1000, 4, 4)}, 8};
  EXPECT_EQ(shards_of(task, 300 * 4 * 4), (std::vector<Shard>{{0, Split::kRows, 0, 250},
                                                              {0, Split::kRows, 250, 500},
                                                              {0, Split::kRows, 500, 750},
                                                              {0, Split::kRows, 750, 1000}}));
}

TEST(Splits, ATableIsCutDownToFourColumns) {
  const ShardTask task{{table("wide", 1000, 128, 4)}, 8};
  const Plan plan = search_plan({task, 32, 1000 * 4 * 4, plain_costs()}, {});
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.shards.size(), 32U);
}

std::string message_of(const ShardTask& task, int ranks, double memory_bytes) {
  return error_of([&] {
           return search_plan({task, ranks, memory_bytes, plain_costs()}, {});
         }) +
         "\n";
}

TEST(Splits, TablesThatDoNotFitAreRefused) {
  const ShardTask task{{table("a", 1 << 20, 256, 4), table("b", 1 << 20, 256, 4)}, 8};
  EXPECT_EQ(message_of(task, 2, 0.75 * (1U << 30U)),
            "the tables do not fit\n"
            "  field:    --memory\n"
            "  expected: 1 GiB on each of 2 ranks, or more\n"
            "  got:      0.75 GiB on each of 2 ranks\n"
            "  hint:     more ranks, more memory, or a smaller element type\n");
}

/// Three tables of 0.6 on two ranks of 1: 1.8 of 2, but no two of them fit on one.
TEST(Splits, TablesThatLeaveEachOtherNoRoomAreCut) {
  for (const std::int64_t dim : {64, 5}) {  // by columns; by rows of what is too narrow
    const ShardTask task{
        {table("a", 600, dim, 1), table("b", 600, dim, 1), table("c", 600, dim, 1)}, 8};
    const double memory_bytes = 1000.0 * static_cast<double>(dim) * 4;
    const Plan plan = search_plan({task, 2, memory_bytes, plain_costs()}, {});
    EXPECT_TRUE(plan.fits);
    ASSERT_EQ(plan.shards.size(), 4U);
    EXPECT_EQ(plan.shards[0].split, dim == 64 ? Split::kColumns : Split::kRows);
    double bytes = 0;
    for (const RankLoad& rank : plan.ranks) {
      EXPECT_LE(rank.bytes, memory_bytes);
      bytes += rank.bytes;
    }
    EXPECT_EQ(bytes, 3 * 600.0 * static_cast<double>(dim) * 4) << "each number once";
  }
}

TEST(Splits, NorAreThoseThatLeaveNoRoomForAPart) {
  // Single rows of four numbers cannot be cut, and three of them do not fit on two ranks of 1.5.
  const ShardTask task{{table("a", 1, 4, 1), table("b", 1, 4, 1), table("c", 1, 4, 1)}, 8};
  EXPECT_EQ(message_of(task, 2, 24),
            "the tables do not fit\n"
            "  field:    --memory\n"
            "  expected: room for the tables and their parts, whole, on the ranks\n"
            "  got:      2.24e-08 GiB on each of 2 ranks\n"
            "  hint:     a little more memory: in sum it is enough\n");
}

TEST(Splits, ATableThatHoldsTheOthersUpIsCutWhereAsked) {
  // Lookups cost by the bytes of their rows.
  const ShardCosts costs{{[](const EmbeddingTable& table, double batch, Direction) {
                            return batch * table.pooling * static_cast<double>(table.dim);
                          },
                          [](double load, Direction) { return known(load, "wide"); }},
                         [](double bytes, int) { return known(bytes, "plain"); }};
  // Each part of a table that is cut in columns needs all of its indices: here nobody sends them.
  const ShardTask task{
      {table("large", 1000, 64, 100), table("b", 10, 64, 1), table("c", 10, 8, 1)}, 8, true};
  const Plan whole_tables = search_plan({task, 4, kAnyMemory, costs}, {});
  const Plan cut = search_plan({task, 4, kAnyMemory, costs}, {}, {.cuts_any = true});
  EXPECT_EQ(whole_tables.shards.size(), 3U);
  EXPECT_LT(cut.time.ns(), 0.3 * whole_tables.time.ns());
  std::int64_t columns = 0;
  for (const Shard& shard : cut.shards) {
    columns += shard.table == 0 ? shard.end - shard.begin : 0;
    EXPECT_EQ(shard.split, shard.table == 0 ? Split::kColumns : Split::kNone);
  }
  EXPECT_EQ(columns, 64);
}

}  // namespace
}  // namespace understudy::predictor
