// Conversions of the half types: every value, and the rounding between each two neighbours.
#include "replayer/backends/interface/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace understudy::backends {
namespace {

template <typename Half>
class HalfTest : public testing::Test {};

using HalfTypes = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(HalfTest, HalfTypes);

TYPED_TEST(HalfTest, EveryValueThereAndBack) {
  for (unsigned bits = 0; bits <= 0xffffU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = TypeParam::to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(TypeParam::to_float(TypeParam::from_float(value))));
    } else {
      ASSERT_EQ(TypeParam::from_float(value), half);
    }
  }
}

TYPED_TEST(HalfTest, RoundsToTheNearestAndTiesToEven) {
  const std::uint16_t infinity = TypeParam::from_float(std::numeric_limits<float>::infinity());
  // Not the largest number: its neighbour is infinity, and there is no middle.
  for (std::uint16_t low = 0; low + 1 < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const float middle = (TypeParam::to_float(low) / 2) + (TypeParam::to_float(high) / 2);
    if (middle <= TypeParam::to_float(low)) {
      continue;  // below what a float can halve
    }
    ASSERT_EQ(TypeParam::from_float(middle), low % 2 == 0 ? low : high);
    ASSERT_EQ(TypeParam::from_float(std::nextafter(middle, 0.0F)), low);
    ASSERT_EQ(TypeParam::from_float(std::nextafter(middle, std::numeric_limits<float>::infinity())),
              high);
  }
}

TEST(Float16, KnownValues) {
  EXPECT_EQ(Float16::to_float(0x3c00), 1.0F);
  EXPECT_EQ(Float16::to_float(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(Float16::to_float(0xfbff), -65504.0F);
  EXPECT_EQ(Float16::from_float(65519.0F), 0x7bff);
  EXPECT_EQ(Float16::from_float(65520.0F), 0x7c00);
  EXPECT_EQ(Float16::from_float(-0.0F), 0x8000);
}

TEST(BFloat16, KnownValues) {
  EXPECT_EQ(BFloat16::to_float(0x3f80), 1.0F);
  EXPECT_EQ(BFloat16::from_float(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace understudy::backends
