// Points that fill a cube: range, evenness, repeatability.

#include "replayer/calibrator/design/halton.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace understudy::calibrator {
namespace {

TEST(Halton, EveryTenthOfEveryDimensionIsMet) {
  constexpr std::size_t kPoints = 1000;
  constexpr std::size_t kBins = 10;
  const Halton halton(Halton::kMostDimensions, 7);
  std::vector<std::array<std::size_t, kBins>> counts(Halton::kMostDimensions);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::vector<double> point = halton.at(i);
    ASSERT_EQ(point.size(), Halton::kMostDimensions);
    for (std::size_t k = 0; k < point.size(); ++k) {
      ASSERT_GE(point[k], 0);
      ASSERT_LT(point[k], 1);
      ++counts[k][static_cast<std::size_t>(point[k] * kBins)];
    }
  }
  for (const auto& bins : counts) {
    for (const std::size_t count : bins) {
      EXPECT_GE(count, 80U);  // independent draws would leave some below 75
      EXPECT_LE(count, 120U);
    }
  }
}

TEST(Halton, PairsOfDimensionsFillTheirSquares) {
  constexpr std::size_t kPoints = 400;
  constexpr std::size_t kSide = 10;
  const Halton halton(8, 7);
  for (std::size_t k = 1; k < 8; ++k) {
    std::set<std::size_t> cells;
    for (std::size_t i = 0; i < kPoints; ++i) {
      const std::vector<double> point = halton.at(i);
      cells.insert(static_cast<std::size_t>(point[k - 1] * kSide) * kSide +
                   static_cast<std::size_t>(point[k] * kSide));
    }
    EXPECT_GE(cells.size(), 90U) << "dimensions " << k - 1 << " and " << k;
  }
}

TEST(Halton, SeedsDecide) {
  EXPECT_EQ(Halton(4, 1).at(17), Halton(4, 1).at(17));
  EXPECT_NE(Halton(4, 1).at(17), Halton(4, 2).at(17));
}

}  // namespace
}  // namespace understudy::calibrator
