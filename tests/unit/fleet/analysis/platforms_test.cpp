#include "fleet/analysis/platforms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/error_text.h"

namespace understudy::fleet {
namespace {

Figures time_of(double ms, double error = 0.01) {
  Figures time;
  time.median_ms = ms;
  time.low_ms = ms * (1 - error);
  time.high_ms = ms * (1 + error);
  time.class_ms = {{"matmul", ms * 0.6}, {"elementwise", ms * 0.3}};
  return time;
}

TEST(Platforms, RatiosAreWeighted) {
  const std::vector<PlatformRow> rows = {
      {"a", "h1", 3, {{"old", time_of(10)}, {"new", time_of(5)}}},
      {"b", "h2", 1, {{"old", time_of(10)}, {"new", time_of(10)}}},
      {"c", "h3", 4, {{"old", time_of(10)}}}};
  const PlatformComparison comparison = compare_platforms(rows, "old");
  ASSERT_EQ(comparison.platforms.size(), 2U);
  const PlatformSummary& first = comparison.platforms.front();
  EXPECT_EQ(first.platform, "new");
  EXPECT_EQ(first.benchmarks, 2U);
  EXPECT_DOUBLE_EQ(first.weight_covered, 0.5);
  EXPECT_DOUBLE_EQ(first.ratio.value, (3 * 0.5 + 1 * 1.0) / 4);
  EXPECT_LE(first.ratio.low, first.ratio.value);
  EXPECT_GE(first.ratio.high, first.ratio.value);
  EXPECT_EQ(comparison.common, 2U);
  EXPECT_EQ(compare_platforms(rows, "").baseline, "old");  // it ran most of them
}

TEST(Platforms, OfJobsWithoutWeightNoneIsCompared) {
  const PlatformComparison none =
      compare_platforms({{"a", "h1", 0, {{"old", time_of(10)}}}, {"b", "h2", 0, {}}}, "old");
  EXPECT_TRUE(none.platforms.empty());
  EXPECT_EQ(none.without_common, std::vector<std::string>{"old"});
}

TEST(Platforms, AnIntervalThatNobodyKnowsIsNone) {
  Figures short_one = time_of(10);
  short_one.low_ms = short_one.high_ms = std::nan("");
  const std::vector<PlatformRow> rows = {
      {"a", "h1", 1, {{"old", time_of(5)}, {"new", short_one}}},
      {"b", "h2", 1, {{"old", time_of(5)}, {"new", time_of(5)}}}};
  const PlatformSummary last = compare_platforms(rows, "old").platforms.back();
  ASSERT_EQ(last.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(last.rows[0].ratio.value, 2);
  EXPECT_TRUE(std::isnan(last.rows[0].ratio.low));
  EXPECT_TRUE(std::isnan(last.rows[0].ratio.high));
  EXPECT_TRUE(std::isfinite(last.rows[1].ratio.low));
  EXPECT_EQ(last.without_interval, 1U);
}

TEST(Platforms, ClassesAddUpToTheRatio) {
  std::vector<PlatformRow> rows = {{"a", "h", 1, {{"old", time_of(10)}, {"new", time_of(10)}}}};
  rows[0].times["new"].median_ms = 8;
  rows[0].times["new"].class_ms = {{"matmul", 4.5}, {"elementwise", 3}};
  const PlatformSummary summary = compare_platforms(rows, "old").platforms.front();
  double sum = 0;
  for (const ClassPart& part : summary.classes) {
    sum += part.part;
  }
  EXPECT_NEAR(sum, summary.ratio.value - 1, 1e-12);
  EXPECT_EQ(summary.classes.front().name, "matmul");
  EXPECT_NEAR(summary.classes.front().part, -0.15, 1e-12);
}

TEST(Platforms, RankingKnowsHowSureItIs) {
  std::vector<PlatformRow> rows;
  for (int i = 0; i < 10; ++i) {
    rows.push_back({"job" + std::to_string(i),
                    "h" + std::to_string(i),
                    1,
                    {{"slow", time_of(10)}, {"fast", time_of(5)}, {"fast too", time_of(5)}}});
  }
  const PlatformComparison comparison = compare_platforms(rows, "slow");
  ASSERT_EQ(comparison.platforms.size(), 3U);
  EXPECT_EQ(comparison.platforms.back().platform, "slow");
  EXPECT_DOUBLE_EQ(comparison.faster_than_next[1], 1);
  EXPECT_GT(comparison.faster_than_next[0], 0.2);
  EXPECT_LT(comparison.faster_than_next[0], 0.8);
  EXPECT_DOUBLE_EQ(comparison.platforms.back().first_probability, 0);
}

TEST(Platforms, PredictionsAreCounted) {
  std::vector<PlatformRow> rows = {{"a", "h", 1, {{"old", time_of(10)}, {"new", time_of(5)}}}};
  rows[0].times["new"].is_predicted = true;
  EXPECT_EQ(compare_platforms(rows, "old").platforms.front().predicted, 1U);
}

TEST(Platforms, ABaselineWithoutResultsIsRefused) {
  EXPECT_EQ(error_of([&] {
              return compare_platforms({{"a", "h", 1, {{"old", time_of(10)}}}}, "gone");
            }),
            "the baseline has no results of the jobs' benchmarks\n"
            "  field:    --baseline\n"
            "  expected: old\n"
            "  got:      gone\n"
            "  hint:     understudy fleet nightly there, or another baseline");
}

}  // namespace
}  // namespace understudy::fleet
