#include "replayer/calibrator/measure/table_timer.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <gtest/gtest.h>

#include "bags.h"

namespace understudy::calibrator {
namespace {

TEST(TableTimer, LooksUpAndUpdatesTheRowsThatAreMet) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const DrawnTable table{.rows = 5, .dim = 8, .pooling = 2, .skew = 0};
  Bags bags(table, 2);
  bags.look_up({1, 3, 3, 3});
  bags.forward();
  EXPECT_TRUE(at::allclose(bags.sums(), at::full({2, 8}, 1.0)));
  bags.backward();
  const at::Tensor updates = bags.weight() - 0.5;
  const at::Tensor met = at::tensor({0.0F, 1.0F, 0.0F, 3.0F, 0.0F}).unsqueeze(1);
  EXPECT_TRUE(at::allclose(updates, (met * -0.01F).expand({5, 8}), 1e-4, 1e-6)) << updates;
}

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
    EXPECT_EQ(draw_count(times.reuse[table]), call.batch * call.tables[table].pooling);
    EXPECT_LE(distinct_count(times.reuse[table]), call.tables[table].rows);
    EXPECT_FALSE(find_problem(times.reuse[table]));
  }
}

}  // namespace
}  // namespace understudy::calibrator
