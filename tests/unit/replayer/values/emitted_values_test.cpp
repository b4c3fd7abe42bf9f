// The values of emitted projects are the replayer's, bit by bit.
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "bench/values.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using Rule = et_schema::ValueRule;

void expect_same(const Rule& ours, const bench::Rule& emitted, at::ScalarType dtype,
                 at::IntArrayRef sizes) {
  const at::Tensor a = at::empty(sizes, dtype);
  const at::Tensor b = at::empty(sizes, dtype);
  fill_tensor(a, ours, {7, 12});
  bench::fill(b, emitted, 7, 12);
  EXPECT_TRUE(at::equal(a, b)) << ours.kind.index() << " of " << dtype;
}

TEST(EmittedValues, OfEveryRule) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    expect_same({Rule::Uniform{-1, 2}}, bench::uniform(-1, 2), dtype, {5, 67});
    expect_same({Rule::Normal{0.5, 0.1}}, bench::normal(0.5, 0.1), dtype, {1025});
    expect_same({Rule::Constant{0.9}}, bench::constant(0.9), dtype, {3});
    expect_same({Rule::Dominant{.rows = 6, .diagonal = 4}}, bench::dominant(4, 6), dtype,
                {2, 6, 6});
  }
  for (const at::ScalarType dtype : {at::kLong, at::kInt, at::kFloat}) {
    expect_same({Rule::Zeros{}}, bench::zeros(), dtype, {9});
    expect_same({Rule::Integers{-5, 99}}, bench::integers(-5, 99), dtype, {777});
    expect_same({Rule::Integers{0, 99, 6}}, bench::integers(0, 99, 6), dtype, {777});
    expect_same({Rule::Arange{.start = 3, .step = 2}}, bench::arange(3, 2), dtype, {50});
    expect_same({Rule::Targets{.classes = 10, .ignore_index = -100, .ignored_share = 0.3}},
                bench::targets(10, -100, 0.3), dtype, {200});
  }
  expect_same({Rule::Mask{11}}, bench::mask(11), at::kBool, {40});
  expect_same({Rule::Bernoulli{0.25}}, bench::bernoulli(0.25), at::kBool, {400});
  expect_same({Rule::Constant{1}}, bench::constant(1), at::kBool, {4});
}

TEST(EmittedValues, OfRulesWithLists) {
  Rule::Offsets offsets{.end = 300, .include_last = true};
  expect_same({offsets}, bench::offsets(300, true), at::kLong, {31});
  offsets.longest = 12;
  expect_same({offsets}, bench::offsets(300, true, 12), at::kLong, {31});
  expect_same({Rule::Lengths{{{5, 40}, {0, 0}, {7, 3}}}}, bench::lengths({{5, 40}, {0, 0}, {7, 3}}),
              at::kInt, {12});
  for (const bool sorted : {false, true}) {
    const et_schema::Reuse reuse = {{{0, 10, {{4, 2}, {1, 3}}}, {50, 100, {{2, 9}}}}, 1, sorted};
    expect_same({Rule::ReusedIntegers{.low = 0, .high = 100, .reuse = reuse}},
                bench::reuse(0, 100, {{0, 10, {{4, 2}, {1, 3}}}, {50, 100, {{2, 9}}}}, 1, sorted),
                at::kLong, {41});
  }
}

TEST(EmittedValues, OfNoRule) {
  for (const at::ScalarType dtype :
       {at::kFloat, at::kBFloat16, at::kLong, at::kBool, at::kComplexFloat}) {
    for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
             {}, {9}, {70000}, {64, 33}, {8, 4, 3, 3}, {2, 3, 40}}) {
      const at::Tensor a = at::empty(sizes, dtype);
      const at::Tensor b = at::empty(sizes, dtype);
      fill_tensor(a, default_rule(dtype, sizes), {0, 3});
      bench::fill(b, bench::by_shape(), 0, 3);
      EXPECT_TRUE(at::equal(a, b)) << dtype << " " << a.sizes();
    }
  }
}

}  // namespace
}  // namespace understudy::replayer
