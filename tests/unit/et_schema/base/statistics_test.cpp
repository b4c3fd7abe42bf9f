#include "et_schema/base/statistics.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(Percentile, InterpolatesBetweenClosestRanks) {
  EXPECT_EQ(percentile({}, 0.5), std::nullopt);
  EXPECT_EQ(percentile({7}, 0.0), 7);
  EXPECT_EQ(percentile({7}, 1.0), 7);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 0.0), 1);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 1.0), 4);
  EXPECT_DOUBLE_EQ(*percentile({0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 0.99), 99);
}

TEST(Statistics, Median) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

TEST(Statistics, Variance) {
  EXPECT_DOUBLE_EQ(variance({1, 2, 3, 4}), 5.0 / 3);
  EXPECT_EQ(variance({4}), 0);
}

// Quantiles of Student's t from the tables of NIST's handbook, 1.3.6.7.2.
TEST(Statistics, ProbabilitiesOfStudentsT) {
  EXPECT_NEAR(two_sided_p(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(two_sided_p(2.228, 10), 0.05, 2e-5);
  EXPECT_NEAR(two_sided_p(-2.228, 10), 0.05, 2e-5);
  EXPECT_NEAR(two_sided_p(3.169, 10), 0.01, 1e-5);
  EXPECT_NEAR(two_sided_p(4.604, 4), 0.01, 1e-5);
  EXPECT_EQ(two_sided_p(0, 3), 1);
  EXPECT_NEAR(t_of_two_sided_p(0.05, 1), 12.706, 5e-4);
  EXPECT_NEAR(t_of_two_sided_p(0.05, 10), 2.228, 5e-4);
  EXPECT_NEAR(t_of_two_sided_p(0.05, 100), 1.984, 5e-4);
}

}  // namespace
}  // namespace understudy::et_schema
