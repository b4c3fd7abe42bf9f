// Sizes of communications: ends first, then where the curve bends.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "replayer/calibrator/measure/collectives.h"

namespace understudy::calibrator {
namespace {

/// Asks for sizes until there are no more, and answers by `time_ns`.
template <typename Time>
std::vector<std::int64_t> climb(SizeLadder& ladder, Time&& time_ns) {
  std::vector<std::int64_t> sizes;
  while (const std::int64_t bytes = ladder.next()) {
    sizes.push_back(bytes);
    ladder.add(bytes, time_ns(static_cast<double>(bytes)));
  }
  return sizes;
}

const CollectiveLimits kLimits{.least_bytes = 4, .most_bytes = 1 << 20};

TEST(SizeLadder, APowerLawNeedsNoFurtherSizes) {
  SizeLadder ladder(kLimits);
  const auto sizes = climb(ladder, [](double bytes) { return 10 * std::sqrt(bytes); });
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 256, 16384, 1048576, 32, 2048, 131072}));
}

TEST(SizeLadder, SizesAreCloserWhereTheCurveBends) {
  SizeLadder ladder(kLimits);
  const auto sizes = climb(ladder, [](double bytes) { return 1000 + bytes / 10; });
  const auto bend = std::ranges::count_if(
      sizes, [](std::int64_t bytes) { return bytes >= 1000 && bytes <= 100'000; });
  const auto flat = std::ranges::count_if(sizes, [](std::int64_t bytes) { return bytes < 256; });
  EXPECT_GE(bend, 6);
  EXPECT_EQ(flat, 2);  // 4 and 32
}

TEST(SizeLadder, WhatTakesTooLongIsNotAskedFor) {
  SizeLadder ladder(kLimits);
  ladder.add(4, 1);
  ladder.add(256, 8);
  ladder.refuse_from(16384);
  EXPECT_EQ(climb(ladder, [](double bytes) { return std::sqrt(bytes) / 2; }),
            (std::vector<std::int64_t>{32}));
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
