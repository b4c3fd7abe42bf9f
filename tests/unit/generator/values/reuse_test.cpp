// A recorded reuse is fitted to the elements, the range and the number of different values wanted.

#include <gtest/gtest.h>

#include "generator/flow/model_names.h"
#include "reuse_rules.h"
#include "testing/error_text.h"
#include "value_kinds.h"

namespace understudy::generator::test {
namespace {

using et_schema::distinct_count;
using et_schema::draw_count;

using ReusedIntegers = ValueRule::ReusedIntegers;

Reuse reuse_of(const ValueRule& rule) {
  return std::get<ReusedIntegers>(rule.kind).reuse;
}

const Reuse kReuse = {{{0, 10, {{20, 1}, {3, 2}}}, {10, 100, {{2, 5}, {1, 14}}}}, 1, false};

TEST(ReuseFit, ToAsManyDraws) {
  EXPECT_EQ(with_draws(kReuse, 50), kReuse);
  EXPECT_EQ(with_draws(kReuse, 100), kReuse);  // twice the list
  for (const std::int64_t count : {1, 7, 25, 49, 51, 75, 149}) {
    const Reuse fitted = with_draws(kReuse, count);
    EXPECT_EQ(draw_count(fitted), count);
    EXPECT_FALSE(et_schema::find_problem(fitted).has_value()) << count;
  }
  const Reuse half = {{{0, 10, {{10, 1}, {3, 1}}}, {10, 100, {{2, 2}, {1, 8}}}}, 1, false};
  EXPECT_EQ(draw_count(half), 25);
  EXPECT_EQ(with_draws(kReuse, 25), half);
}

TEST(ReuseFit, ToAsManyDifferentNumbers) {
  ASSERT_EQ(distinct_count(kReuse), 22);
  for (std::int64_t distinct = 1; distinct <= 34; ++distinct) {
    const std::optional<Reuse> fitted = with_distinct(kReuse, distinct);
    ASSERT_TRUE(fitted.has_value()) << distinct;
    EXPECT_EQ(distinct_count(*fitted), distinct);
    EXPECT_EQ(draw_count(*fitted), 50) << distinct;
    EXPECT_FALSE(et_schema::find_problem(*fitted).has_value()) << distinct;
  }
  EXPECT_FALSE(with_distinct(kReuse, 0).has_value());
  // The 26 draws of the first bin are of at most its ten numbers.
  EXPECT_FALSE(with_distinct(kReuse, 35).has_value());
  EXPECT_FALSE(with_distinct(kReuse, 51).has_value());  // more than draws
  EXPECT_FALSE(with_distinct({{{0, 2, {{5, 1}, {4, 1}}}}, 1, false}, 3).has_value());
}

TEST(ReuseRules, StayWithinTheRangeThatTheOperatorTakes) {
  const ValueRule reuse = reuse_rule(kReuse, "captured reuse");
  EXPECT_EQ(narrow_reuse(reuse, integers(0, 200), 50),
            (ValueRule{ReusedIntegers{.low = 0, .high = 200, .reuse = kReuse}, "captured reuse"}));
  const Reuse narrow = reuse_of(narrow_reuse(reuse, integers(0, 15), 50));
  EXPECT_EQ(narrow.bins.back().high, 15);
  EXPECT_EQ(draw_count(narrow), 50);
  EXPECT_FALSE(et_schema::find_problem(narrow).has_value());
  const Reuse beyond = reuse_of(narrow_reuse(reuse, integers(500, 502), 50));
  EXPECT_EQ(draw_count(beyond), 50);
  EXPECT_EQ(beyond.bins.front().low, 500);
  EXPECT_FALSE(et_schema::find_problem(beyond).has_value());
}

TEST(ReuseRules, KeepTheNumberOfRowsThatAShapeHangsOn) {
  const ValueRule rows{ValueRule::Integers{.low = 0, .high = 100, .distinct = 30}};
  const ValueRule fitted = narrow_reuse(reuse_rule(kReuse, ""), rows, 60);
  EXPECT_EQ(draw_count(reuse_of(fitted)), 60);
  EXPECT_EQ(distinct_count(reuse_of(fitted)), 30);
  EXPECT_EQ(std::get<ReusedIntegers>(fitted.kind).distinct, 30);
  const ValueRule too_many{ValueRule::Integers{.low = 0, .high = 100, .distinct = 99}};
  EXPECT_EQ(narrow_reuse(reuse_rule(kReuse, ""), too_many, 60), too_many);
}

TEST(IndexSpreads, ZipfLeansTowardsTheFirstNumbers) {
  const IndexSpread spread = parse_index_spread("zipf:1.05");
  const ValueRule rule = spread_indices(integers(5, 1'000'005), spread, 100'000, 1);
  ASSERT_TRUE(rule.is<ReusedIntegers>());
  const Reuse reuse = reuse_of(rule);
  EXPECT_EQ(draw_count(reuse), 100'000);
  ASSERT_FALSE(reuse.bins.empty());
  EXPECT_EQ(reuse.bins.front().low, 5);
  // The first of a million has the share 1 / Σ k^-1.05 = 1 / 10.56 of the draws.
  EXPECT_NEAR(static_cast<double>(reuse.bins.front().repeats.front().times), 9'470, 400);
  EXPECT_EQ(spread_indices(integers(5, 1'000'005), spread, 100'000, 1), rule);
  EXPECT_FALSE(et_schema::find_problem(reuse).has_value());
}

TEST(IndexSpreads, OthersAndThoseThatAreRefused) {
  EXPECT_EQ(spread_indices(integers(0, 9), parse_index_spread("uniform"), 4, 1), integers(0, 9));
  EXPECT_EQ(spread_indices(integers(3, 9), parse_index_spread("constant"), 4, 1), constant(3));
  for (const char* text : {"zipf", "zipf:", "zipf:-1", "zipf:1x", "zipf:nan", "zipf:21"}) {
    EXPECT_EQ(testing_errors::error_of(et_schema::ErrorKind::kUsage,
                                       [&] { return parse_index_spread(text); }),
              std::string("not a spread of index values\n"
                          "  field:    --indices\n"
                          "  expected: uniform, constant or "
                          "zipf:ALPHA, ALPHA from 0 to 20\n"
                          "  got:      ") +
                  text);
  }
}

}  // namespace
}  // namespace understudy::generator::test
