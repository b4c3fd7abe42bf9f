#include "replayer/run/log_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace understudy::replayer {
namespace {

TEST(LogHistogram, IsExactForSmallNumbersAndToOnePartIn64Beyond) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{63}, std::int64_t{64}, std::int64_t{127},
        std::int64_t{-5}, std::int64_t{-127}}) {
    LogHistogram histogram;
    histogram.add(number);
    EXPECT_EQ(histogram.quantile(0.5), static_cast<double>(number));
  }
  for (const std::int64_t number :
       {std::int64_t{128}, std::int64_t{1000}, std::int64_t{-123'456'789},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    LogHistogram histogram;
    histogram.add(number);
    const auto exact = static_cast<double>(number);
    EXPECT_NEAR(*histogram.quantile(0.5), exact, std::abs(exact) / 64);
    EXPECT_NEAR(*histogram.quantile_of_magnitude(0.5), std::abs(exact), std::abs(exact) / 64);
  }
}

TEST(LogHistogram, QuantilesAreThoseOfTheSortedNumbers) {
  LogHistogram histogram;
  LogHistogram others;
  EXPECT_EQ(histogram.quantile(0.5), std::nullopt);
  EXPECT_EQ(histogram.quantile_of_magnitude(0.5), std::nullopt);
  for (std::int64_t number = -50; number < 50; ++number) {
    (number % 2 == 0 ? histogram : others).add(number);
  }
  histogram.add(others);
  EXPECT_EQ(histogram.count(), 100U);
  EXPECT_EQ(histogram.quantile(0), -50.0);
  EXPECT_EQ(histogram.quantile(0.25), -26.0);
  EXPECT_EQ(histogram.quantile(0.5), -1.0);
  EXPECT_EQ(histogram.quantile(1), 49.0);
  EXPECT_EQ(histogram.quantile_of_magnitude(1), 50.0);
  EXPECT_EQ(histogram.quantile_of_magnitude(0.5), 25.0);
}

}  // namespace
}  // namespace understudy::replayer
