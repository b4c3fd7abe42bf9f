#include "fleet/comparer/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace understudy::comparer {
namespace {

double fastest(std::vector<double> samples) {
  return mean_of_fastest(samples);
}

TEST(Statistics, TheFastestAreATenthAndThreeAtLeast) {
  EXPECT_DOUBLE_EQ(fastest({5, 1, 3, 2}), 2);
  EXPECT_DOUBLE_EQ(fastest({9, 1}), 5);
  EXPECT_DOUBLE_EQ(fastest({7}), 7);
  EXPECT_TRUE(std::isnan(fastest({})));
  std::vector<double> many(31);
  std::iota(many.rbegin(), many.rend(), 1.0);
  EXPECT_DOUBLE_EQ(fastest(many), 2.5);  // 1 to 4
}

TEST(Statistics, BlocksAreAsLongAsTheRootOfTheSeriesOrASixth) {
  EXPECT_EQ(block_length(1), 1U);
  EXPECT_EQ(block_length(30), 6U);
  EXPECT_EQ(block_length(100), 17U);
}

TEST(Statistics, ResamplesAreBlocksOfTheSeriesAndTheSameEachTime) {
  const std::vector<Resample> resamples = block_resamples(30, 20, 7);
  ASSERT_EQ(resamples.size(), 20U);
  for (const Resample& resample : resamples) {
    ASSERT_EQ(resample.size(), 30U);
    for (std::size_t i = 0; i < resample.size(); ++i) {
      if (i % 6 != 0) {
        EXPECT_EQ(resample[i], (resample[i - 1] + 1) % 30);
      }
    }
  }
  EXPECT_EQ(block_resamples(30, 20, 7), resamples);
  EXPECT_NE(block_resamples(30, 20, 8), resamples);
}

TEST(Statistics, WeightedMedian) {
  EXPECT_DOUBLE_EQ(weighted_median({3, 1, 2}, {1, 1, 1}), 2);
  EXPECT_DOUBLE_EQ(weighted_median({1, 2}, {1, 1}), 1.5);
  EXPECT_DOUBLE_EQ(weighted_median({1, 2}, {1, 3}), 2);
  EXPECT_DOUBLE_EQ(weighted_median({5, 6, 7}, {0.2, 0.2, 0.7}), 7);
  EXPECT_TRUE(std::isnan(weighted_median({}, {})));
}

TEST(Statistics, HolmsAdjustment) {
  const std::vector<double> alike(4, 0.25);
  const std::vector<double> adjusted = holm({0.01, 0.04, 0.03, 0.5}, alike);
  ASSERT_EQ(adjusted.size(), 4U);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.09);  // not below that of the smaller p
  EXPECT_DOUBLE_EQ(adjusted[2], 0.09);
  EXPECT_DOUBLE_EQ(adjusted[3], 0.5);
  EXPECT_EQ(holm({0.8, 0.9}, {1, 1}), (std::vector<double>{1, 1}));
}

TEST(Statistics, WhatMattersMoreHasMoreOfTheLevel) {
  const std::vector<double> adjusted = holm({0.02, 0.02}, {0.75, 0.25});
  EXPECT_DOUBLE_EQ(adjusted[0], 0.02 / 0.75);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.02 / 0.75);  // alone then, but not below the one before
  EXPECT_DOUBLE_EQ(holm({0.02, 0.001}, {0.75, 0.25})[1], 0.001 / 0.25);
}

}  // namespace
}  // namespace understudy::comparer
