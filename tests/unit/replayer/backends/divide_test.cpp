#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "replayer/backends/ranks/reduce_local.h"

namespace understudy::backends {
namespace {

TEST(Averages, OfMoreRanksThanTheirTypeCounts) {
  std::array<std::int8_t, 3> narrow = {-100, 0, 127};
  scale({.data = narrow.data(), .count = 3, .dtype = et_schema::DType::kInt8}, 256, 1);
  EXPECT_EQ(narrow, (std::array<std::int8_t, 3>{0, 0, 0}));
  std::array<std::int16_t, 2> wide = {-600, 600};
  scale({.data = wide.data(), .count = 2, .dtype = et_schema::DType::kInt16}, 256, 1);
  EXPECT_EQ(wide, (std::array<std::int16_t, 2>{-2, 2}));
  std::array<std::uint8_t, 2> natural = {200, 255};
  scale({.data = natural.data(), .count = 2, .dtype = et_schema::DType::kUInt8}, 100, 1);
  EXPECT_EQ(natural, (std::array<std::uint8_t, 2>{2, 2}));
}

}  // namespace
}  // namespace understudy::backends
