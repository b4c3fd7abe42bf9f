#include "replayer/calibrator/design/table_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace understudy::calibrator {
namespace {

std::int64_t bytes_of(const DrawnTable& table) {
  return table.rows * table.dim * static_cast<std::int64_t>(sizeof(float));
}

TEST(TableCalls, EqualNumbersGiveEqualCalls) {
  for (std::uint64_t number = 0; number < 20; ++number) {
    EXPECT_EQ(draw_table_call(number), draw_table_call(number));
    EXPECT_NE(draw_table_call(number), draw_table_call(number + 1));
  }
}

TEST(TableCalls, StayWithinTheirBounds) {
  std::set<std::size_t> tables;
  std::int64_t most = 0;
  for (std::uint64_t number = 0; number < 500; ++number) {
    const TableCall call = draw_table_call(number);
    tables.insert(call.tables.size());
    EXPECT_GE(call.batch, 8);
    EXPECT_LE(call.batch, 2048);
    std::int64_t bytes = 0;
    for (const DrawnTable& table : call.tables) {
      EXPECT_GE(table.rows, 1);
      EXPECT_GE(table.pooling, 1);
      EXPECT_LE(table.pooling, 64);
      bytes += bytes_of(table);
    }
    EXPECT_LE(bytes, kMostTableBytes);
    most = std::max(most, bytes);
  }
  EXPECT_EQ(tables, (std::set<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_GT(most, kMostTableBytes / 2);
}

TEST(TableCalls, LookupsLieInTheTable) {
  for (const double skew : {0.0, 0.6, 1.0, 1.3}) {
    const DrawnTable table{.rows = 1000, .dim = 8, .pooling = 7, .skew = skew};
    const std::vector<std::int64_t> rows = draw_lookups(table, 40, 3);
    EXPECT_EQ(rows.size(), 280U);
    EXPECT_GE(*std::ranges::min_element(rows), 0);
    EXPECT_LT(*std::ranges::max_element(rows), 1000);
    EXPECT_EQ(rows, draw_lookups(table, 40, 3));
    EXPECT_NE(rows, draw_lookups(table, 40, 4));
  }
  EXPECT_EQ(draw_lookups({.rows = 1, .dim = 8, .pooling = 2, .skew = 0.9}, 1, 1),
            (std::vector<std::int64_t>{0, 0}));
}

/// How often the row that is met most is met, and how many rows are.
std::pair<std::int64_t, std::size_t> meetings(double skew) {
  std::map<std::int64_t, std::int64_t> times;
  for (const std::int64_t row :
       draw_lookups({.rows = 10'000, .dim = 8, .pooling = 10, .skew = skew}, 1000, 1)) {
    ++times[row];
  }
  const auto most =
      std::ranges::max_element(times, {}, &std::pair<const std::int64_t, std::int64_t>::second);
  return {most->second, times.size()};
}

TEST(TableCalls, ASkewMeetsFewerRowsMoreOften) {
  const auto uniform = meetings(0);
  const auto skewed = meetings(0.9);
  const auto very = meetings(1.3);
  // 10,000 uniform draws from 10,000 rows meet 1 - 1/e of them, none above 12 times (Poisson,
  // 1e-9).
  EXPECT_NEAR(static_cast<double>(uniform.second), 6321, 150);
  EXPECT_LE(uniform.first, 12);
  // By 1 / H of Zipf's law: 12 % of the draws meet the first of 10,000 rows at exponent 0.9.
  EXPECT_GT(skewed.first, 300);
  EXPECT_LT(skewed.second, uniform.second);
  EXPECT_GT(very.first, skewed.first);
  EXPECT_LT(very.second, skewed.second);
}

TEST(TableCalls, HotRowsLieApart) {
  const DrawnTable table{.rows = 10'000, .dim = 8, .pooling = 10, .skew = 1.3};
  std::map<std::int64_t, std::int64_t> times;
  for (const std::int64_t row : draw_lookups(table, 1000, 1)) {
    ++times[row];
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> by_times;
  for (const auto& [row, count] : times) {
    by_times.emplace_back(count, row);
  }
  std::ranges::sort(by_times, std::greater<>());
  for (std::size_t i = 1; i < 10; ++i) {
    EXPECT_GT(std::abs(by_times[i].second - by_times[i - 1].second), 100);
  }
}

}  // namespace
}  // namespace understudy::calibrator
