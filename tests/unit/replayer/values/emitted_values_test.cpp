// The rules that emitted projects write are those of benchmarks; both are drawn by the same source.
#include <gtest/gtest.h>

#include "bench/rules.h"

namespace understudy::replayer {
namespace {

using Rule = et_schema::ValueRule;

TEST(EmittedValues, OfEveryRule) {
  EXPECT_EQ(bench::by_shape(), std::nullopt);
  EXPECT_EQ(bench::uniform(-1, 2), (Rule{Rule::Uniform{.low = -1, .high = 2}}));
  EXPECT_EQ(bench::normal(0.5, 0.1), (Rule{Rule::Normal{.mean = 0.5, .deviation = 0.1}}));
  EXPECT_EQ(bench::constant(0.9), (Rule{Rule::Constant{0.9}}));
  EXPECT_EQ(bench::dominant(4, 6), (Rule{Rule::Dominant{.rows = 6, .diagonal = 4}}));
  EXPECT_EQ(bench::zeros(), (Rule{Rule::Zeros{}}));
  EXPECT_EQ(bench::integers(-5, 99), (Rule{Rule::Integers{.low = -5, .high = 99}}));
  EXPECT_EQ(bench::integers(0, 99, 6), (Rule{Rule::Integers{.low = 0, .high = 99, .distinct = 6}}));
  EXPECT_EQ(bench::arange(3, 2), (Rule{Rule::Arange{.start = 3, .step = 2}}));
  EXPECT_EQ(bench::targets(10, -100, 0.3),
            (Rule{Rule::Targets{.classes = 10, .ignore_index = -100, .ignored_share = 0.3}}));
  EXPECT_EQ(bench::mask(11), (Rule{Rule::Mask{11}}));
  EXPECT_EQ(bench::bernoulli(0.25), (Rule{Rule::Bernoulli{0.25}}));
  EXPECT_EQ(bench::offsets(300, true), (Rule{Rule::Offsets{.end = 300, .include_last = true}}));
  EXPECT_EQ(bench::offsets(300, true, 12),
            (Rule{Rule::Offsets{.end = 300, .include_last = true, .longest = 12}}));
  EXPECT_EQ(bench::lengths({{5, 40}, {0, 0}}), (Rule{Rule::Lengths{{{5, 40}, {0, 0}}}}));
  const et_schema::Reuse reuse = {{{0, 10, {{4, 2}, {1, 3}}}, {50, 100, {{2, 9}}}}, 2, true};
  EXPECT_EQ(bench::reuse(0, 100, {{0, 10, {{4, 2}, {1, 3}}}, {50, 100, {{2, 9}}}}, 2, true),
            (Rule{Rule::ReusedIntegers{.low = 0, .high = 100, .reuse = reuse}}));
}

}  // namespace
}  // namespace understudy::replayer
