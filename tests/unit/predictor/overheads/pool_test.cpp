#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "predictor/overheads/overlap.h"

namespace understudy::predictor {
namespace {

std::vector<OverlapPair> pairs_of(const std::vector<double>& factors, double alone_ns = 100) {
  std::vector<OverlapPair> pairs;
  for (const double factor : factors) {
    pairs.push_back({alone_ns, factor * alone_ns, 2});
  }
  return pairs;
}

TEST(Pool, CallsCountByTheirTime) {
  std::vector<OverlapPair> pairs = pairs_of({1.5, 1.5, 1.5, 1.5, 1.5, 1.5});
  for (const OverlapPair& pair : pairs_of({1.1, 1.1, 1.1, 1.1, 1.1, 1.1}, 300)) {
    pairs.push_back(pair);
  }
  const PooledFactor pooled = pool(pairs);
  ASSERT_EQ(pooled.outcome, PooledOverlap::kFactor);
  EXPECT_DOUBLE_EQ(pooled.factor.factor, 1.2);
  EXPECT_EQ(pooled.factor.groups, 12U);
  EXPECT_EQ(pooled.factor.calls, 24U);
  // A quarter of the time 0.3 off, the rest 0.1.
  EXPECT_NEAR(pooled.factor.deviation, 0.1732, 1e-4);
}

TEST(Pool, TheIntervalIsThatOfARatioOfSums) {
  const PooledFactor pooled = pool(pairs_of({1.1, 1.2, 1.3, 1.4, 1.5}));
  ASSERT_EQ(pooled.outcome, PooledOverlap::kFactor);
  EXPECT_DOUBLE_EQ(pooled.factor.factor, 1.3);
  // Student's 2.132 of 4 degrees of freedom times 0.1581 / sqrt(5).
  EXPECT_NEAR(pooled.factor.high - 1.3, 0.1508, 2e-3);
  EXPECT_NEAR(1.3 - pooled.factor.low, 0.1508, 2e-3);
  EXPECT_EQ(pooled.left_out.n, 5U);
  EXPECT_NEAR(pooled.left_out.worst, 1.35 / 1.1 - 1, 1e-9) << "1.1 by the four others";
}

TEST(Pool, IntervalsHoldNineOfTen) {
  constexpr int kDraws = 600;
  constexpr double kTrue = 1.4;
  for (const int calls : {8, 40}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(calls));
    // The same numbers with any library: twelve uniform ones make a normal one.
    const auto normal = [&] {
      double sum = -6;
      for (int i = 0; i < 12; ++i) {
        sum += static_cast<double>(random() >> 11U) * 0x1p-53;
      }
      return sum;
    };
    int held = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<OverlapPair> pairs;
      for (int i = 0; i < calls; ++i) {
        const double alone_ns = 1e4 * std::exp(0.4 * normal());
        pairs.push_back({alone_ns, alone_ns * (kTrue + 0.2 * normal()), 1});
      }
      const PooledFactor pooled = pool(pairs);
      ASSERT_EQ(pooled.outcome, PooledOverlap::kFactor);
      held += pooled.factor.low <= kTrue && kTrue <= pooled.factor.high ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(held) / kDraws, 0.9, 0.03) << calls << " calls";
  }
}

TEST(Pool, FewerThanFiveCallsAreTooFew) {
  EXPECT_EQ(pool({}).outcome, PooledOverlap::kNothing);
  EXPECT_EQ(pool(pairs_of({1.3, 1.3, 1.3, 1.3})).outcome, PooledOverlap::kTooFew);
  EXPECT_EQ(pool(pairs_of({1.3, 1.3, 1.3, 1.3, 1.3})).outcome, PooledOverlap::kFactor);
}

TEST(Pool, ACallThatTakesNearlyAllOfTheTimeIsOneCall) {
  std::vector<OverlapPair> pairs = pairs_of({1.3, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3});
  pairs.push_back({10'000, 20'000, 1});
  EXPECT_EQ(pool(pairs).outcome, PooledOverlap::kTooFew);
}

TEST(Pool, NoFactorIsBelowOne) {
  const PooledFactor pooled = pool(pairs_of({0.9, 1.05, 0.95, 1.0, 1.05, 0.95}));
  ASSERT_EQ(pooled.outcome, PooledOverlap::kFactor);
  EXPECT_EQ(pooled.factor.factor, 1);
  EXPECT_EQ(pooled.factor.low, 1);
  EXPECT_GT(pooled.factor.high, 1);
  EXPECT_LT(pooled.factor.high, 1.05);
}

TEST(Pool, NothingIsFasterForOtherWork) {
  EXPECT_EQ(pool(pairs_of({0.7, 0.72, 0.68, 0.7, 0.7, 0.7})).outcome, PooledOverlap::kFaster);
}

TEST(Pool, AFactorIsNoMoreThanTheMost) {
  const PooledFactor pooled = pool(pairs_of({500, 500, 500, 500, 500}));
  EXPECT_EQ(pooled.factor.factor, kMostOverlapFactor);
  EXPECT_EQ(pooled.factor.high, kMostOverlapFactor);
}

TEST(ReplaceOverlap, TheLaterOneOfADeviceStays) {
  DeviceOverlap a{"A", OverlapFactor{.factor = 1.1, .high = 2}, {}, {}, {"a.json"}};
  DeviceOverlap b{"B", OverlapFactor{.factor = 1.2, .high = 2}, {}, {}, {"b.json"}};
  DeviceOverlap later{"A", {}, {}, OverlapFactor{.factor = 1.3, .high = 2}, {"c.json"}};
  std::vector<DeviceOverlap> devices{b};
  replace_overlap(devices, {a});
  EXPECT_EQ(devices, (std::vector<DeviceOverlap>{a, b}));
  replace_overlap(devices, {later});
  EXPECT_EQ(devices, (std::vector<DeviceOverlap>{later, b}));
}

}  // namespace
}  // namespace understudy::predictor
