#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "predictor/fitting/errors.h"
#include "predictor/fitting/interpolation.h"
#include "predictor/fitting/least_squares.h"

namespace understudy::predictor {
namespace {

TEST(LeastSquares, FindsTheCoefficientsOfExactData) {
  const DesignMatrix rows = {{1, 2}, {1, 5}, {1, 11}};
  const std::vector<double> fitted = nonnegative_least_squares(rows, {3 + 4, 3 + 10, 3 + 22});
  EXPECT_NEAR(fitted[0], 3, 1e-9);
  EXPECT_NEAR(fitted[1], 2, 1e-9);
}

TEST(LeastSquares, NoCoefficientIsNegative) {
  // By ordinary least squares the line would cut the axis at -1.
  const std::vector<double> fitted = nonnegative_least_squares({{1, 1}, {1, 2}, {1, 3}}, {1, 3, 5});
  EXPECT_EQ(fitted[0], 0);
  EXPECT_NEAR(fitted[1], (1.0 + 6 + 15) / 14, 1e-9);
}

TEST(LeastSquares, EqualAndEmptyColumnsAreNoTrouble) {
  const std::vector<double> fitted =
      nonnegative_least_squares({{1, 1, 0}, {2, 2, 0}, {3, 3, 0}}, {2, 4, 6});
  EXPECT_NEAR(fitted[0] + fitted[1], 2, 1e-9);
  EXPECT_EQ(fitted[2], 0);
}

TEST(LeastSquares, ColumnsOfFarApartSizes) {
  DesignMatrix rows = {{1, 1e3}, {1, 1e6}, {1, 1e9}};
  for (std::vector<double>& row : rows) {  // of relative errors
    const double target = 5e4 + 1e-5 * row[1];
    row = {row[0] / target, row[1] / target};
  }
  const std::vector<double> fitted = nonnegative_least_squares(rows, {1, 1, 1});
  EXPECT_NEAR(fitted[0], 5e4, 1e-3);
  EXPECT_NEAR(fitted[1], 1e-5, 1e-12);
}

TEST(Interpolation, PlacesAmongAscendingNumbers) {
  const std::vector<double> at = {1, 2, 4};
  const std::vector<double> values = {10, 20, 60};
  EXPECT_EQ(interpolate(values, find_place(at, 3)), 40);
  EXPECT_EQ(interpolate(values, find_place(at, 2)), 20);
  EXPECT_EQ(interpolate(values, find_place(at, 4)), 60);
  EXPECT_EQ(interpolate(values, find_place(at, 0)), 10);
  EXPECT_EQ(interpolate(values, find_place(at, 9)), 60);
  EXPECT_EQ(interpolate({7}, find_place({5}, 3)), 7);
}

TEST(Interpolation, AWalkIsLeastKnownInTheMiddleAndBeyondTheEnds) {
  const std::vector<double> at = {0, 4};
  EXPECT_EQ(walk_deviation(find_place(at, 0)), 0);
  EXPECT_EQ(walk_deviation(find_place(at, 4)), 0);
  EXPECT_DOUBLE_EQ(walk_deviation(find_place(at, 2)), 1);
  EXPECT_DOUBLE_EQ(walk_deviation(find_place(at, 1)), std::sqrt(0.75));
  EXPECT_DOUBLE_EQ(walk_deviation(find_place(at, 13)), 3);
  EXPECT_DOUBLE_EQ(walk_deviation(find_place(at, -9)), 3);
}

TEST(Errors, MeansMaximumAndSign) {
  const Errors errors = errors_of({-std::log(1.1), -std::log(0.8), 0});
  EXPECT_EQ(errors.n, 3U);
  EXPECT_NEAR(errors.mean, 0.1, 1e-12);
  EXPECT_NEAR(errors.worst, 0.2, 1e-12);
  EXPECT_NEAR(errors.bias, -0.1 / 3, 1e-12);
  EXPECT_NEAR(errors.geometric, std::cbrt((0.1 + 4e-4) * (0.2 + 4e-4) * 4e-4), 1e-12);
  EXPECT_EQ(errors_of({}), Errors());
}

TEST(Errors, ConformalWidthCountsOneMore) {
  std::vector<double> residuals;
  for (int i = 1; i <= 19; ++i) {
    residuals.push_back(i % 2 == 0 ? i : -i);
  }
  EXPECT_EQ(conformal_width(residuals), 18);  // ceil(0.9 x 20)
  EXPECT_EQ(conformal_width({1, -2, 3}), 3);
  EXPECT_EQ(conformal_width({1, -2}, 1.5), 3) << "two tell less than nine of ten";
  EXPECT_EQ(conformal_width({}), 0);
}

}  // namespace
}  // namespace understudy::predictor
