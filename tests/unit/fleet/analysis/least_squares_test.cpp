#include <gtest/gtest.h>

#include "fleet/analysis/numerics.h"

namespace understudy::fleet {
namespace {

TEST(LeastSquares, FindWhatIsExact) {
  const Columns columns = {{1, 0, 2}, {0, 3, 1}};
  const std::vector<double> weights = non_negative_least_squares(columns, {2, 1.5, 4.5});
  EXPECT_NEAR(weights[0], 2, 1e-8);
  EXPECT_NEAR(weights[1], 0.5, 1e-8);
  EXPECT_NEAR(residual_of(columns, weights, {2, 1.5, 4.5}), 0, 1e-8);
}

TEST(LeastSquares, NoWeightIsNegative) {
  const std::vector<double> weights = non_negative_least_squares({{1, 0}, {1, 1}}, {1, -1});
  EXPECT_NEAR(weights[0], 1, 1e-8);
  EXPECT_EQ(weights[1], 0);
  EXPECT_EQ(non_negative_least_squares({{0, 0}}, {1, 1}).front(), 0);
}

}  // namespace
}  // namespace understudy::fleet
