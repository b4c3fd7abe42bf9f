// Kinds, groups and sizes of communications that are measured.

#include "replayer/calibrator/design/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace understudy::calibrator
