#include "replayer/calibrator/design/table_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace understudy::calibrator
