// The values of emitted projects are the replayer's, bit by bit.
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "bench/values.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;
using et_schema::ValueRuleKind;

ValueRule rule(ValueRuleKind kind, double a, double b, std::int64_t low, std::int64_t high) {
  ValueRule made;
  made.kind = kind;
  made.a = a;
  made.b = b;
  made.low = low;
  made.high = high;
  return made;
}

void expect_same(const ValueRule& ours, const bench::Rule& emitted, at::ScalarType dtype,
                 at::IntArrayRef sizes) {
  const at::Tensor a = at::empty(sizes, dtype);
  const at::Tensor b = at::empty(sizes, dtype);
  fill_tensor(a, ours, {7, 12});
  bench::fill(b, emitted, 7, 12);
  EXPECT_TRUE(at::equal(a, b)) << static_cast<int>(ours.kind) << " of " << dtype;
}

TEST(EmittedValues, OfEveryRule) {
  using Kind = ValueRuleKind;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    expect_same(rule(Kind::kUniform, -1, 2, 0, 0), bench::uniform(-1, 2), dtype, {5, 67});
    expect_same(rule(Kind::kNormal, 0.5, 0.1, 0, 0), bench::normal(0.5, 0.1), dtype, {1025});
    expect_same(rule(Kind::kConstant, 0.9, 0, 0, 0), bench::constant(0.9), dtype, {3});
    expect_same(rule(Kind::kDominant, 4, 0, 0, 6), bench::dominant(4, 6), dtype, {2, 6, 6});
  }
  for (const at::ScalarType dtype : {at::kLong, at::kInt, at::kFloat}) {
    expect_same(rule(Kind::kZeros, 0, 0, 0, 0), bench::zeros(), dtype, {9});
    expect_same(rule(Kind::kIntegers, 0, 0, -5, 99), bench::integers(-5, 99), dtype, {777});
    expect_same(rule(Kind::kIntegers, 6, 0, 0, 99), bench::integers(0, 99, 6), dtype, {777});
    expect_same(rule(Kind::kArange, 0, 0, 3, 2), bench::arange(3, 2), dtype, {50});
    expect_same(rule(Kind::kTargets, 0.3, 0, -100, 10), bench::targets(10, -100, 0.3), dtype,
                {200});
  }
  expect_same(rule(Kind::kMask, 0, 0, 0, 11), bench::mask(11), at::kBool, {40});
  expect_same(rule(Kind::kBernoulli, 0.25, 0, 0, 0), bench::bernoulli(0.25), at::kBool, {400});
  expect_same(rule(Kind::kConstant, 1, 0, 0, 0), bench::constant(1), at::kBool, {4});
}

TEST(EmittedValues, OfRulesWithLists) {
  ValueRule offsets = rule(ValueRuleKind::kOffsets, 0, 0, 0, 300);
  offsets.include_last = true;
  expect_same(offsets, bench::offsets(300, true), at::kLong, {31});
  offsets.low = 12;
  expect_same(offsets, bench::offsets(300, true, 12), at::kLong, {31});
  ValueRule lengths;
  lengths.kind = ValueRuleKind::kLengths;
  lengths.segments = {{5, 40}, {0, 0}, {7, 3}};
  expect_same(lengths, bench::lengths({{5, 40}, {0, 0}, {7, 3}}), at::kInt, {12});
  for (const bool sorted : {false, true}) {
    ValueRule reuse = rule(ValueRuleKind::kReuse, 0, 0, 0, 100);
    reuse.reuse.bins = {{0, 10, {{4, 2}, {1, 3}}}, {50, 100, {{2, 9}}}};
    reuse.reuse.sorted = sorted;
    expect_same(reuse,
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
