#include "calibrator/measure/table_timer.h"

#include <gtest/gtest.h>

namespace understudy::calibrator {
namespace {

TEST(TableTimer, TimesBothDirectionsAndCountsWhatWasMet) {
  const TableCall call{.batch = 64,
                       .tables = {{.rows = 100, .dim = 8, .pooling = 5, .skew = 0},
                                  {.rows = 2, .dim = 16, .pooling = 1, .skew = 0.9}}};
  const TableTimes times = time_tables(call, 1, 7);
  EXPECT_EQ(times.forward.n, 7U);
  EXPECT_EQ(times.backward.n, 7U);
  EXPECT_GT(times.forward.median_ns, 0);
  EXPECT_GT(times.backward.median_ns, 0);
  ASSERT_EQ(times.reuse.size(), 2U);
  for (std::size_t table = 0; table < 2; ++table) {
    std::int64_t lookups = 0;
    std::int64_t rows = 0;
    for (const et_schema::Repeat& repeat : times.reuse[table]) {
      lookups += repeat.times * repeat.numbers;
      rows += repeat.numbers;
    }
    EXPECT_EQ(lookups, call.batch * call.tables[table].pooling);
    EXPECT_LE(rows, call.tables[table].rows);
  }
}

}  // namespace
}  // namespace understudy::calibrator
