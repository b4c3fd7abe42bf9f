// Kinds, groups and sizes of communications that are measured.

#include "replayer/calibrator/design/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/matching/matching.h"

namespace understudy::calibrator {
namespace {

TEST(CollectiveSizes, CoarseOnesFirstEachOnce) {
  const auto sizes = collective_sizes({.least_bytes = 4, .most_bytes = 1024});
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 256, 32, 8, 16, 64, 128, 512, 1024}));
}

TEST(CollectiveAreas, EachKindInGroupsOfTwoFourAndAll) {
  const std::vector<CollectiveCall> areas = collective_areas({"a", "a", "a", "b", "b", "b"}, false);
  for (const int ranks : {2, 4, 6}) {
    const auto of_group = std::ranges::count(areas, ranks, &CollectiveCall::ranks);
    EXPECT_EQ(of_group, ranks == 2 ? 16 : 15);
  }
  EXPECT_EQ(std::ranges::count(areas, 2, &CollectiveCall::nodes), 30);
  EXPECT_EQ(std::ranges::count(areas, et_schema::CommKind::kRecv, &CollectiveCall::kind), 0);
}

TEST(CollectiveBench, CallsOfAllRanksMatch) {
  std::vector<CollectiveCall> calls;
  for (const CollectiveCall& area : collective_areas({"a", "a", "a", "b", "b", "b"}, false)) {
    calls.push_back(sized(area, 100));
  }
  const et_schema::Bench bench = make_bench(calls, 6);
  ASSERT_EQ(bench.groups.size(), 3U);
  EXPECT_EQ(bench.groups[1].ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(bench.groups[2].ranks, (std::vector<std::int64_t>{0, 1, 2, 3}));
  const auto orders = matching::match_programs(bench.programs, bench.groups);
  ASSERT_EQ(orders.size(), 6U);
  // A barrier before each call; the last ranks are in groups of all alone.
  EXPECT_EQ(bench.programs[0].instructions.size(), 2 * calls.size());
  EXPECT_EQ(bench.programs[5].instructions.size(), calls.size() + 15);
}

}  // namespace
}  // namespace understudy::calibrator
