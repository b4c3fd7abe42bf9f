// Index values come again exactly as often as a rule says; matrices are what their rule promises.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::Reuse;
using et_schema::ReuseBin;
using et_schema::ValueRule;
using Numbers = std::vector<std::int64_t>;

constexpr ValueKey kKey{.seed = 3, .stream = 11};

ValueRule rule_of(const Reuse& reuse) {
  return {ValueRule::ReusedIntegers{.reuse = reuse}};
}

Numbers drawn(const Reuse& reuse, std::int64_t count, ValueKey key = kKey) {
  const at::Tensor tensor = at::empty({count}, at::kLong);
  fill_tensor(tensor, rule_of(reuse), key);
  const auto* data = tensor.const_data_ptr<std::int64_t>();
  return {data, data + count};
}

/// times → numbers that occur so often, among those in the bin.
std::map<std::int64_t, std::int64_t> repeats(const Numbers& numbers, const ReuseBin& bin) {
  std::map<std::int64_t, std::int64_t> times_of;
  for (const std::int64_t number : numbers) {
    if (number >= bin.low && number < bin.high) {
      ++times_of[number];
    }
  }
  std::map<std::int64_t, std::int64_t> counted;
  for (const auto& [number, times] : times_of) {
    ++counted[times];
  }
  return counted;
}

const Reuse kReuse = {{{10, 11, {{40, 1}}}, {50, 1000, {{7, 3}, {2, 10}, {1, 100}}}}, 1, false};
constexpr std::int64_t kDraws = 40 + 21 + 20 + 100;

TEST(ReuseValues, EachNumberOccursAsOftenAsTheBinSays) {
  const Numbers numbers = drawn(kReuse, kDraws);
  EXPECT_EQ(repeats(numbers, kReuse.bins[0]), (std::map<std::int64_t, std::int64_t>{{40, 1}}));
  EXPECT_EQ(repeats(numbers, kReuse.bins[1]),
            (std::map<std::int64_t, std::int64_t>{{1, 100}, {2, 10}, {7, 3}}));
  EXPECT_EQ(std::ranges::count_if(numbers, [](auto n) { return n < 50 && n != 10; }), 0);
  EXPECT_FALSE(std::ranges::is_sorted(numbers));
}

TEST(ReuseValues, AreTheSameForASeedAndOthersForAnother) {
  EXPECT_EQ(drawn(kReuse, kDraws), drawn(kReuse, kDraws));
  EXPECT_NE(drawn(kReuse, kDraws), drawn(kReuse, kDraws, {.seed = 4, .stream = 11}));
  // The numbers themselves, so that no platform draws others.
  EXPECT_EQ(drawn({{{0, 9, {{2, 2}, {1, 1}}}}, 1, false}, 5), (Numbers{3, 1, 3, 6, 6}));
}

TEST(ReuseValues, InOrderWhereTheyWere) {
  Reuse sorted = kReuse;
  sorted.sorted = true;
  Numbers numbers = drawn(sorted, kDraws);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  Numbers shuffled = drawn(kReuse, kDraws);
  std::ranges::sort(shuffled);
  EXPECT_EQ(numbers, shuffled);
}

TEST(ReuseValues, RunsAndRepetitionFillTheTensor) {
  Reuse reuse = {{{0, 3, {{1, 3}}}}, 2, true};
  EXPECT_EQ(drawn(reuse, 12), (Numbers{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  reuse.sorted = false;
  const Numbers numbers = drawn(reuse, 12);
  for (std::size_t i = 0; i < 6; i += 2) {
    EXPECT_EQ(numbers[i], numbers[i + 1]);
    EXPECT_EQ(numbers[i], numbers[i + 6]);
  }
}

TEST(ReuseValues, OfAnotherSizeKeepTheProportions) {
  const Numbers half = drawn(kReuse, kDraws / 2);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(half, 10)), 20, 1);
  const Numbers more = drawn(kReuse, kDraws * 3 / 2);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(more, 10)), 60, 1);
}

TEST(DominantValues, MatricesAreSymmetricAndWellConditioned) {
  const ValueRule rule{ValueRule::Dominant{.rows = 16, .diagonal = 1}};
  const at::Tensor matrices = at::empty({3, 16, 16}, at::kDouble);
  fill_tensor(matrices, rule, kKey);
  EXPECT_TRUE(at::equal(matrices, matrices.mT()));
  EXPECT_FALSE(at::equal(matrices[0], matrices[1]));
  const at::Tensor values = at::linalg_eigvalsh(matrices);
  EXPECT_GT(values.min().item<double>(), 0.5);
  EXPECT_LT(values.max().item<double>(), 1.5);
}

}  // namespace
}  // namespace understudy::replayer
