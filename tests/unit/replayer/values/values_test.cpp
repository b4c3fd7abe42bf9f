#include "replayer/values/values.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "testing/error_text.h"

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;
using testing_errors::told;

constexpr ValueKey kKey{.seed = 1, .stream = 7};

ValueRule integers(std::int64_t low, std::int64_t high) {
  return {ValueRule::Integers{.low = low, .high = high}};
}

ValueRule normal(double mean, double deviation) {
  return {ValueRule::Normal{.mean = mean, .deviation = deviation}};
}

ValueRule uniform(double low, double high) {
  return {ValueRule::Uniform{.low = low, .high = high}};
}

ValueRule constant(double value) {
  return {ValueRule::Constant{value}};
}

at::Tensor filled(at::IntArrayRef sizes, at::ScalarType dtype, const ValueRule& rule,
                  ValueKey key = kKey) {
  at::Tensor tensor = at::empty(sizes, dtype);
  fill_tensor(tensor, rule, key);
  return tensor;
}

std::vector<std::int64_t> as_integers(const at::Tensor& tensor) {
  const at::Tensor copy = tensor.to(at::kLong).contiguous();
  const auto* data = copy.const_data_ptr<std::int64_t>();
  return {data, data + copy.numel()};
}

std::uint64_t fnv1a(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
  std::uint64_t hash = 14695981039346656037ULL;
  for (std::size_t i = 0; i < tensor.nbytes(); ++i) {
    hash = (hash ^ bytes[i]) * 1099511628211ULL;
  }
  return hash;
}

std::string refusal(at::IntArrayRef sizes, at::ScalarType dtype, const ValueRule& rule) {
  return testing_errors::error_of(et_schema::ErrorKind::kBadInput,
                                  [&] { return filled(sizes, dtype, rule); });
}

const std::vector<at::ScalarType> kFloatTypes = {
    at::kFloat,           at::kDouble,          at::kHalf,
    at::kBFloat16,        at::kFloat8_e5m2,     at::kFloat8_e4m3fn,
    at::kFloat8_e5m2fnuz, at::kFloat8_e4m3fnuz, at::kFloat8_e8m0fnu,
    at::kComplexHalf,     at::kComplexFloat,    at::kComplexDouble};

TEST(Values, BytesAreTheSameEverywhere) {
  // These numbers are part of the format: a benchmark gives the same bytes on every platform.
  const ValueRule near_zero = normal(0, 0.5);
  const ValueRule between = uniform(-1, 3);
  EXPECT_EQ(fnv1a(filled({5000}, at::kFloat, near_zero)), 9908248887209836283U);
  EXPECT_EQ(fnv1a(filled({5000}, at::kDouble, between)), 7802361427516483947U);
  EXPECT_EQ(fnv1a(filled({5000}, at::kHalf, near_zero)), 7241403386601812763U);
  EXPECT_EQ(fnv1a(filled({5000}, at::kBFloat16, between)), 9138185998273448014U);
  EXPECT_EQ(fnv1a(filled({5000}, at::kFloat8_e4m3fn, near_zero)), 15023691530814889309U);
  EXPECT_EQ(fnv1a(filled({5000}, at::kLong, integers(-3, 1000))), 4845540807953094386U);
}

TEST(Values, SeedAndStreamChangeTheBytes) {
  const ValueRule rule = normal(0, 1);
  const at::Tensor tensor = filled({100}, at::kFloat, rule);
  EXPECT_TRUE(at::equal(tensor, filled({100}, at::kFloat, rule)));
  EXPECT_FALSE(at::equal(tensor, filled({100}, at::kFloat, rule, {.seed = 2, .stream = 7})));
  EXPECT_FALSE(at::equal(tensor, filled({100}, at::kFloat, rule, {.seed = 1, .stream = 8})));
}

TEST(Values, StridesDoNotChangeTheContent) {
  const ValueRule rule = normal(0, 1);
  const at::Tensor plain = filled({3, 4, 5, 6}, at::kFloat, rule);
  at::Tensor last = at::empty(
      {3, 4, 5, 6}, at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  fill_tensor(last, rule, kKey);
  EXPECT_TRUE(at::equal(plain, last));

  const at::Tensor gaps = at::zeros({40}, at::kFloat);
  fill_tensor(gaps.slice(0, 1, 40, 4), rule, kKey);
  EXPECT_TRUE(at::equal(gaps.slice(0, 1, 40, 4), filled({10}, at::kFloat, rule)));
  EXPECT_EQ(gaps.count_nonzero().item<std::int64_t>(), 10);
}

TEST(Values, RepeatedElementsAreWrittenOnce) {
  const at::Tensor base = at::zeros({1, 6}, at::kFloat);
  fill_tensor(base.expand({4, 6}), {ValueRule::Arange{}}, kKey);
  fill_tensor(base.expand({4, 6}), {ValueRule::Arange{.start = 5, .step = 2}}, kKey);
  EXPECT_EQ(as_integers(base), (std::vector<std::int64_t>{5, 7, 9, 11, 13, 15}));
}

TEST(Values, NormalHasItsMeanAndDeviation) {
  const at::Tensor tensor = filled({200000}, at::kDouble, normal(3, 0.5));
  EXPECT_NEAR(tensor.mean().item<double>(), 3, 0.005);
  EXPECT_NEAR(tensor.std().item<double>(), 0.5, 0.005);
  EXPECT_LT((tensor - 3).abs().max().item<double>(), 0.5 * 3.47);
}

TEST(Values, UniformStaysBelowItsUpperBoundInEveryType) {
  for (const at::ScalarType dtype :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kFloat8_e5m2, at::kFloat8_e4m3fn}) {
    const at::Tensor tensor = filled({20000}, dtype, uniform(0.5, 1)).to(at::kDouble);
    EXPECT_GE(tensor.min().item<double>(), 0.5) << dtype;
    EXPECT_LT(tensor.max().item<double>(), 1) << dtype;
    EXPECT_NEAR(tensor.mean().item<double>(), 0.75, 0.1) << dtype;
  }
}

TEST(Values, IntegersCoverTheirRange) {
  const at::Tensor tensor = filled({10000}, at::kShort, integers(-2, 3));
  const std::vector<std::int64_t> values = as_integers(std::get<0>(at::_unique(tensor)));
  EXPECT_EQ(values, (std::vector<std::int64_t>{-2, -1, 0, 1, 2}));
  const at::Tensor wide = filled(
      {1000}, at::kLong,
      integers(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  EXPECT_TRUE((wide < 0).any().item<bool>());
  EXPECT_TRUE((wide > 0).any().item<bool>());
}

TEST(Values, OffsetsRiseFromZeroToTheNumberOfIndices) {
  const ValueRule rule{ValueRule::Offsets{.end = 1000, .include_last = true}};
  const std::vector<std::int64_t> with_last = as_integers(filled({65}, at::kInt, rule));
  EXPECT_EQ(with_last.front(), 0);
  EXPECT_EQ(with_last.back(), 1000);
  EXPECT_TRUE(std::is_sorted(with_last.begin(), with_last.end()));
  const std::vector<std::int64_t> without =
      as_integers(filled({64}, at::kLong, {ValueRule::Offsets{.end = 1000}}));
  EXPECT_EQ(without.front(), 0);
  EXPECT_LE(without.back(), 1000);
  EXPECT_GT(without.back(), 900);
  EXPECT_TRUE(std::is_sorted(without.begin(), without.end()));
  EXPECT_EQ(as_integers(filled({1}, at::kLong, rule)), std::vector<std::int64_t>{0});
}

TEST(Values, OffsetsAreNoFurtherApartThanARowIsLong) {
  for (const std::int64_t longest : {16, 20, 1000}) {
    const ValueRule rule{ValueRule::Offsets{.end = 1000, .include_last = true, .longest = longest}};
    const std::vector<std::int64_t> drawn = as_integers(filled({65}, at::kLong, rule));
    EXPECT_EQ(drawn.back(), 1000);
    for (std::size_t i = 1; i < drawn.size(); ++i) {
      EXPECT_GE(drawn[i], drawn[i - 1]);
      EXPECT_LE(drawn[i] - drawn[i - 1], longest);
    }
  }
}

TEST(Values, LengthsAddUpInEachSegment) {
  const ValueRule rule{ValueRule::Lengths{{{.count = 16, .sum = 48},
                                           {.count = 0, .sum = 0},
                                           {.count = 1, .sum = 5},
                                           {.count = 7, .sum = 0},
                                           {.count = 8, .sum = 3}}}};
  const at::Tensor tensor = filled({4, 8}, at::kInt, rule).flatten();
  EXPECT_GE(tensor.min().item<int>(), 0);
  EXPECT_EQ(tensor.slice(0, 0, 16).sum().item<std::int64_t>(), 48);
  EXPECT_EQ(tensor[16].item<int>(), 5);
  EXPECT_EQ(tensor.slice(0, 17, 24).sum().item<std::int64_t>(), 0);
  EXPECT_EQ(tensor.slice(0, 24, 32).sum().item<std::int64_t>(), 3);
}

TEST(Values, MasksAndTargets) {
  for (const std::int64_t set : {0, 1, 337, 1000}) {
    const at::Tensor mask = filled({1000}, at::kBool, {ValueRule::Mask{set}});
    EXPECT_EQ(mask.sum().item<std::int64_t>(), set);
  }
  const at::Tensor half = filled({1000}, at::kBool, {ValueRule::Mask{500}});
  EXPECT_GT(half.slice(0, 0, 500).sum().item<std::int64_t>(), 200);

  const at::Tensor coin = filled({100000}, at::kBool, {ValueRule::Bernoulli{0.9}});
  EXPECT_NEAR(coin.to(at::kFloat).mean().item<double>(), 0.9, 0.01);

  const at::Tensor targets =
      filled({40000}, at::kLong,
             {ValueRule::Targets{.classes = 10, .ignore_index = -100, .ignored_share = 0.25}});
  const at::Tensor ignored = targets == -100;
  EXPECT_NEAR(ignored.to(at::kFloat).mean().item<double>(), 0.25, 0.02);
  EXPECT_EQ(targets.masked_select(~ignored).min().item<std::int64_t>(), 0);
  EXPECT_EQ(targets.masked_select(~ignored).max().item<std::int64_t>(), 9);
}

TEST(Values, DefaultsAreHealthyInEveryFloatingType) {
  for (const at::ScalarType dtype : kFloatTypes) {
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{}, {64}, {100000}, {64, 4096}, {16, 8, 3, 3}, {2, 3, 64, 64}}) {
      const at::Tensor tensor = filled(sizes, dtype, default_rule(dtype, sizes));
      EXPECT_EQ(scan(tensor), ValueHealth{}) << dtype << " " << at::IntArrayRef(sizes);
    }
  }
}

TEST(Values, DefaultsByDtypeAndShape) {
  EXPECT_EQ(default_rule(at::kLong, {3}), ValueRule{ValueRule::Zeros{}});
  EXPECT_EQ(default_rule(at::kBool, {3}), constant(1));
  EXPECT_EQ(default_rule(at::kFloat, {}), constant(1));
  EXPECT_EQ(default_rule(at::kLong, {}), constant(1)) << "an integer divisor must not be 0";
  EXPECT_EQ(default_rule(at::kHalf, {65536}), uniform(0.5, 1));
  EXPECT_EQ(default_rule(at::kFloat, {65537}), normal(0, 1.0 / 64));
  EXPECT_EQ(default_rule(at::kFloat, {10, 256}), normal(0, 1.0 / 16));
  EXPECT_EQ(default_rule(at::kFloat, {8, 4, 2, 2}), normal(0, 1.0 / 4));
  EXPECT_EQ(default_rule(at::kFloat, {8, 4, 100, 100}), normal(0, 0.1));
  EXPECT_EQ(default_rule(at::kFloat, {3, 100000}), normal(0, 1.0 / 64));
  EXPECT_EQ(default_rule(at::kFloat, {3, 0}), normal(0, 1));
}

TEST(Values, WhatATypeCannotHoldBecomesItsLargestOrZero) {
  EXPECT_EQ(filled({1}, at::kHalf, constant(1e9)).item<float>(), 65504.0F);
  EXPECT_EQ(filled({1}, at::kFloat, constant(1e-40)).item<float>(), 0.0F);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(filled({1}, at::kHalf, constant(-infinity)).item<float>(),
            -std::numeric_limits<float>::infinity());
}

TEST(Values, ImpossibleRulesAreRefused) {
  ValueRule range = integers(5, 5);
  range.why = "aten::embedding.indices";
  EXPECT_EQ(
      refusal({3}, at::kLong, range),
      told("a value rule that no content can fulfil", "field: value (aten::embedding.indices)",
           "expected: integers from a range that is not empty", "got: [5, 5)",
           "hint: generate the benchmark again from its trace"));
  EXPECT_EQ(refusal({3}, at::kByte, integers(256, 257)),
            told("a value rule that no content can fulfil", "field: value",
                 "expected: numbers that fit Byte", "got: 256",
                 "hint: generate the benchmark again from its trace"));
  EXPECT_EQ(refusal({4}, at::kInt, {ValueRule::Lengths{{{.count = 3, .sum = 9}}}}),
            told("a value rule that no content can fulfil", "field: value",
                 "expected: segments of 4 lengths in all", "got: 3",
                 "hint: generate the benchmark again from its trace"));
  EXPECT_NE(refusal({4}, at::kBool, {ValueRule::Mask{5}})
                .find("expected: a mask with 0 to 4 elements set"),
            std::string::npos);
  EXPECT_NE(refusal({4}, at::kFloat, uniform(2, 1)).find("got:      [2, 1)"), std::string::npos);
  EXPECT_NE(refusal({4}, at::kFloat, normal(0, -1)).find("deviation -1"), std::string::npos);
  EXPECT_NE(refusal({4}, at::kBool, {ValueRule::Bernoulli{1.5}}).find("got:      1.5"),
            std::string::npos);
}

TEST(Values, ScanFindsEachKindInEachType) {
  for (const at::ScalarType dtype :
       {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kComplexFloat}) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double tiny = dtype == at::kDouble ? 1e-310 : dtype == at::kHalf ? 3e-5 : 1e-39;
    at::Tensor tensor = at::ones({1001}, dtype);
    tensor[999].fill_(0);
    EXPECT_EQ(scan(tensor), ValueHealth{}) << dtype;
    tensor[1000].fill_(-tiny);
    EXPECT_EQ(scan(tensor), (ValueHealth{.subnormal = dtype != at::kHalf})) << dtype;
    tensor[1000].fill_(-infinity);
    EXPECT_EQ(scan(tensor), (ValueHealth{.inf = true})) << dtype;
    tensor[0].fill_(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(scan(tensor), (ValueHealth{.nan = true, .inf = true})) << dtype;
    EXPECT_EQ(scan(tensor.slice(0, 1, 1000, 3)), ValueHealth{}) << dtype;
  }
}

TEST(Values, ScanOfBytesKnowsEachFormat) {
  struct Case {
    at::ScalarType dtype;
    std::uint8_t code;
    ValueHealth health;
  };
  for (const Case& item :
       {Case{at::kFloat8_e5m2, 0x7F, {.nan = true}}, Case{at::kFloat8_e5m2, 0xFC, {.inf = true}},
        Case{at::kFloat8_e5m2, 0x83, {}}, Case{at::kFloat8_e5m2, 0x7B, {}},
        Case{at::kFloat8_e4m3fn, 0xFF, {.nan = true}}, Case{at::kFloat8_e4m3fn, 0x07, {}},
        Case{at::kFloat8_e4m3fn, 0x7E, {}}, Case{at::kFloat8_e4m3fnuz, 0x80, {.nan = true}},
        Case{at::kFloat8_e4m3fnuz, 0x01, {}}, Case{at::kFloat8_e5m2fnuz, 0x80, {.nan = true}},
        Case{at::kFloat8_e8m0fnu, 0xFF, {.nan = true}}}) {
    const at::Tensor tensor = at::full({9}, item.code, at::kByte).view(item.dtype);
    EXPECT_EQ(scan(tensor), item.health) << item.dtype << " " << int{item.code};
  }
}

TEST(Values, MemoryThatNobodyWritesIsToldByOperatorAndResult) {
  EXPECT_TRUE(leaves_elements_unwritten("aten::empty.memory_format", 0));
  EXPECT_TRUE(leaves_elements_unwritten("aten::_ctc_loss", 1));
  EXPECT_TRUE(leaves_elements_unwritten("aten::_ctc_loss.Tensor", 1));
  EXPECT_FALSE(leaves_elements_unwritten("aten::_ctc_loss", 0));
  EXPECT_FALSE(leaves_elements_unwritten("aten::_ctc_loss_backward", 1));
  EXPECT_FALSE(leaves_elements_unwritten("aten::mm", 0));
}

TEST(Values, ScanLooksAtWhatIsThere) {
  EXPECT_EQ(scan(at::Tensor()), ValueHealth{});
  EXPECT_EQ(scan(at::empty({0})), ValueHealth{});
  EXPECT_EQ(scan(at::full({3}, 7, at::kLong)), ValueHealth{});
  const at::Tensor one = at::full({1}, std::numeric_limits<float>::infinity());
  EXPECT_EQ(scan(one.expand({1 << 30})), (ValueHealth{.inf = true}));
  EXPECT_EQ(scan(at::_efficientzerotensor({3}, at::kFloat)), ValueHealth{});
  const at::Tensor sparse = (one * at::eye(3)).nan_to_num(2, 2, 2).to_sparse();
  EXPECT_EQ(scan(sparse), ValueHealth{});
  sparse._values().fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(scan(sparse), (ValueHealth{.nan = true}));
}

TEST(Values, SeededRowsAreThoseOfTheWholeTable) {
  const ValueRule rule = normal(0, 1);
  const at::Tensor whole = filled({1000, 16}, at::kFloat, rule);
  const at::Tensor table = at::zeros({1000, 16}, at::kFloat);
  TableSeeder seeder(table, 16, rule, kKey);
  seeder.seed_rows(std::vector<std::int64_t>{3, 999, 3});
  EXPECT_EQ(seeder.seeded_rows(), 2);
  EXPECT_TRUE(at::equal(table[3], whole[3]));
  EXPECT_TRUE(at::equal(table[999], whole[999]));
  EXPECT_EQ(table.count_nonzero().item<std::int64_t>(),
            whole[3].count_nonzero().item<std::int64_t>() +
                whole[999].count_nonzero().item<std::int64_t>());

  table[3].fill_(5);
  seeder.seed_rows(std::vector<std::int64_t>{3});
  EXPECT_EQ(table[3][0].item<float>(), 5) << "what training wrote must not be overwritten";
  seeder.restore();
  EXPECT_TRUE(at::equal(table[3], whole[3]));

  EXPECT_EQ(testing_errors::error_of([&] {
              return seeder.seed_rows(std::vector<std::int64_t>{4, 1000});
            }),
            told("an index points outside of its table", "field: indices",
                 "expected: rows 0 to 999", "got: row 1000",
                 "hint: the benchmark's value rules do not fit this operator: generate it again"));
  EXPECT_EQ(table[4].count_nonzero().item<std::int64_t>(), 0);
}

// Emitted projects go by the same list: tests/scripts/bench_runtime_test.py.
TEST(FreshMemory, IsAsListed) {
  std::ifstream list(std::string(UNDERSTUDY_TEST_DATA) + "/fresh_memory.txt");
  std::size_t lines = 0;
  std::size_t result = 0;
  for (std::string op, is_fresh; list >> op >> result >> is_fresh; ++lines) {
    EXPECT_EQ(leaves_elements_unwritten(op, result), is_fresh == "yes") << op << " " << result;
  }
  EXPECT_GT(lines, 20U);
}

}  // namespace
}  // namespace understudy::replayer
