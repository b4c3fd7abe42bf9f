#include "fleet/comparer/covariance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace understudy::comparer {
namespace {

constexpr std::size_t kSamples = 200;

/// A slow wave and a pseudo-random flutter, the same with every standard library.
double wave(std::size_t i, double phase) {
  return std::sin(0.05 * static_cast<double>(i) + phase);
}

class Flutter {
 public:
  explicit Flutter(std::uint64_t seed) : state_(seed) {}
  double operator()() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11U) / 4503599627370496.0 - 1;  // −1 … 1
  }

 private:
  std::uint64_t state_;
};

using Response = std::function<double(double, double)>;

/// Two covariates that wander, and what a row makes of them.
CovariateRun make_covariate_run(std::uint64_t seed, double level, double noise,
                                const Response& response) {
  Flutter flutter(seed);
  CovariateRun run;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const double clock = level + 0.02 * wave(i, static_cast<double>(seed));
    const double memory = level + 0.03 * wave(2 * i, 1 + static_cast<double>(seed));
    run.covariates[0].push_back(clock);
    run.covariates[1].push_back(memory);
    run.response.push_back(response(clock, memory) + noise * flutter());
  }
  return run;
}

TEST(Covariance, TakesOutWhatTheCovariatesExplain) {
  // The second run's machine is 10 % slower; the row answers by a half and a third, and is 3 % up.
  const AdjustedLevels levels = adjusted_levels(
      {make_covariate_run(1, 0, 0.001, [](double x, double y) { return 1 + 0.5 * x + 0.3 * y; })},
      {make_covariate_run(2, 0.1, 0.001,
                          [](double x, double y) { return 1.03 + 0.5 * x + 0.3 * y; })});
  EXPECT_NEAR(levels.difference, 0.03, 0.001);
  // So far apart, slopes that may differ between the runs are all that is unsure.
  EXPECT_NEAR(std::sqrt(levels.variance), 0.2 * 0.5 * std::sqrt(0.1 * 0.1 + 0.1 * 0.1), 0.001);
  ASSERT_EQ(levels.a.size(), 1U);
  ASSERT_EQ(levels.b.size(), 1U);
  EXPECT_DOUBLE_EQ(levels.b[0] - levels.a[0], levels.difference);
}

TEST(Covariance, WhatNothingWithinTheRunsTellsIsThePriorsAndUnsure) {
  // Covariates that stand still in each run and differ between them: the slopes are unknown.
  CovariateRun a = make_covariate_run(1, 0, 0.001, [](double, double) { return 0.0; });
  CovariateRun b = a;
  a.covariates = {std::vector<double>(kSamples, 0.0), {}};
  b.covariates = {std::vector<double>(kSamples, 0.1), {}};
  const AdjustedLevels levels = adjusted_levels({a}, {b});
  // Taken to answer as its only covariate does, give or take 0.3.
  EXPECT_NEAR(levels.difference, -0.1, 0.01);
  EXPECT_NEAR(std::sqrt(levels.variance), 0.03, 0.005);
}

TEST(Covariance, ASpikeHereAndThereChangesLittle) {
  const Response response = [](double x, double) { return x; };
  const CovariateRun a = make_covariate_run(1, 0, 0.002, response);
  CovariateRun b = make_covariate_run(2, 0, 0.002, response);
  const double before = adjusted_levels({a}, {b}).difference;
  for (std::size_t i = 3; i < kSamples; i += 20) {
    b.response[i] += 1;
  }
  EXPECT_NEAR(adjusted_levels({a}, {b}).difference, before, 0.001);
}

TEST(Covariance, ARunThatWandersIsLessSure) {
  const Response still = [](double, double) { return 0.0; };
  CovariateRun a = make_covariate_run(1, 0, 0.002, still);
  CovariateRun b = make_covariate_run(2, 0, 0.002, still);
  const double steady = adjusted_levels({a}, {b}).variance;
  for (std::size_t i = 0; i < kSamples; ++i) {
    b.response[i] += i < kSamples / 2 ? 0.01 : -0.01;
  }
  EXPECT_GT(adjusted_levels({a}, {b}).variance, 4 * steady);
}

TEST(Covariance, SamplesThatAreMostlyAlikeAreNoSpikes) {
  CovariateRun a;
  a.response = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
  CovariateRun b;
  b.response = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const AdjustedLevels levels = adjusted_levels({a}, {b});
  EXPECT_LT(std::abs(levels.difference), 2 * std::sqrt(levels.variance));
}

TEST(Covariance, LevelsByRun) {
  const auto at = [](double level) {
    return [level](double x, double y) { return level + 0.5 * x + 0.5 * y; };
  };
  const AdjustedLevels levels = adjusted_levels(
      {make_covariate_run(1, 0, 0.001, at(1)), make_covariate_run(2, 0.05, 0.001, at(1.02))},
      {make_covariate_run(3, 0.02, 0.001, at(1.04)), make_covariate_run(4, 0, 0.001, at(1.06))});
  ASSERT_EQ(levels.a.size(), 2U);
  EXPECT_NEAR(levels.a[1] - levels.a[0], 0.02, 0.002);
  EXPECT_NEAR(levels.b[1] - levels.b[0], 0.02, 0.002);
  EXPECT_NEAR(levels.difference, 0.04, 0.002);
}

}  // namespace
}  // namespace understudy::comparer
