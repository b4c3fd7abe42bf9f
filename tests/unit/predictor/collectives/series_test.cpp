#include "predictor/collectives/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "synthetic_rows.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;

const SeriesKey kKey{CommKind::kAllReduce, true, 1, et_schema::DType::kFloat32};

TEST(Series, FindsLatencyAndBandwidth) {
  const Series series = fit_series(kKey, exact_rows(CommKind::kAllReduce, {2, 4, 8}));
  EXPECT_NEAR(series.alpha_ns, 10000, 1e-3);
  EXPECT_NEAR(series.beta_ns_per_byte, 0.1, 1e-9);
  EXPECT_EQ(series.left_out.n, 3U * 8);
  EXPECT_NEAR(series.left_out.worst, 0, 1e-9);
}

class SeriesOfRanks : public testing::TestWithParam<int> {};

TEST_P(SeriesOfRanks, AnswersOtherSizesAndRanksOfAnExactMachine) {
  const Series series = fit_series(kKey, exact_rows(CommKind::kAllReduce, {2, 4, 8}));
  for (const std::int64_t bytes : {0L, 64L, 5000L, 1L << 20, (1L << 28) + 3, 1L << 32}) {
    const Estimate answer = estimate(series, static_cast<double>(bytes), GetParam());
    const double truth = exact_row(CommKind::kAllReduce, bytes, GetParam()).median_ns;
    EXPECT_NEAR(answer.ns / truth, 1, 1e-6) << bytes;
    EXPECT_LT(answer.low_ns, truth);
    EXPECT_GT(answer.high_ns, truth);
    const bool is_beyond = bytes < 1024 || bytes > 1L << 28;
    EXPECT_EQ(answer.extrapolated, is_beyond || GetParam() > 8) << bytes;
    EXPECT_TRUE(answer.modelled);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SeriesOfRanks, testing::Values(2, 3, 4, 8, 16));

TEST(Series, GoesThroughWhatWasMeasured) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2, 8});
  rows[3].median_ns *= 1.5;  // a step in the curve: another protocol
  const Series series = fit_series(kKey, rows);
  for (const CollectiveRow& row : rows) {
    const Estimate answer = estimate(series, static_cast<double>(row.bytes), row.ranks);
    EXPECT_NEAR(answer.ns / row.median_ns, 1, 1e-9);
    EXPECT_EQ(answer.model, "alpha_beta+residual");
  }
}

TEST(Series, BetweenSizesTheShareOfAlphaBetaIsLinearInLnSize) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2});
  rows[5].median_ns *= 2;
  const Series series = fit_series(kKey, rows);
  const double middle =
      std::sqrt(static_cast<double>(rows[5].bytes) * static_cast<double>(rows[6].bytes));
  const auto base = [&](double bytes) {
    const Traffic traffic = traffic_of(CommKind::kAllReduce, bytes, 2);
    return series.alpha_ns * traffic.steps + series.beta_ns_per_byte * traffic.link_bytes;
  };
  const double share = (base(static_cast<double>(rows[5].bytes)) / rows[5].median_ns +
                        base(static_cast<double>(rows[6].bytes)) / rows[6].median_ns) /
                       2;
  EXPECT_NEAR(estimate(series, middle, 2).ns, base(middle) / share, 1e-3);
}

TEST(Series, EqualRowsCountAsOneAndTheirSpreadWidens) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2});
  const Estimate before = estimate(fit_series(kKey, rows), 1024, 2);
  rows.push_back(rows.front());
  rows.back().spread_ns = rows.back().median_ns / 10;
  const Estimate after = estimate(fit_series(kKey, rows), 1024, 2);
  EXPECT_NEAR(after.ns, before.ns, 1e-6);
  EXPECT_LT(after.low_ns, before.low_ns);
  EXPECT_NEAR(std::log(after.high_ns / after.ns), 0.1, 0.001);
}

TEST(Series, RoughCurvesHaveWideIntervals) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2});
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    rows[i].median_ns *= 1.3;
  }
  const Series series = fit_series(kKey, rows);
  EXPECT_GT(series.size_step, 0.1);
  const Estimate between = estimate(series, 2048 * 4, 2);
  const Estimate on = estimate(series, 4096, 2);
  EXPECT_GT(between.high_ns / between.ns, 1.1);
  EXPECT_LT(on.high_ns / on.ns, 1.02);
}

TEST(Series, WithoutALatencyASmallerCallTakesAsLongAsTheSmallest) {
  std::vector<CollectiveRow> rows;
  for (std::int64_t mib = 1; mib <= 64; mib *= 2) {
    rows.push_back(exact_row(CommKind::kAllReduce, mib << 20U, 2));
    // Grows faster than its size: no latency fits.
    rows.back().median_ns = std::pow(static_cast<double>(mib), 1.2) * 1e5;
  }
  const Series series = fit_series(kKey, rows);
  ASSERT_EQ(series.alpha_ns, 0);
  EXPECT_NEAR(estimate(series, 4, 2).ns, 1e5, 1);
  const Estimate answer = estimate(series, 0, 2);
  EXPECT_NEAR(answer.ns, 1e5, 1);
  EXPECT_EQ(answer.low_ns, 0);
  EXPECT_TRUE(answer.extrapolated);
}

TEST(Series, NoBytesAndHardlyAnyLatencyAreNoTrouble) {
  std::vector<CollectiveRow> rows;
  for (const std::int64_t bytes : {0, 1000, 1000000}) {
    rows.push_back(exact_row(CommKind::kAllReduce, bytes, 2));
    rows.back().median_ns = std::max(1e-3, std::pow(static_cast<double>(bytes), 1.2));
  }
  const Series series = fit_series(kKey, rows);
  for (const double bytes : {0.0, 10.0, 5000.0, 1e9}) {
    const Estimate answer = estimate(series, bytes, 2);
    EXPECT_TRUE(std::isfinite(answer.ns) && answer.ns > 0) << bytes;
    EXPECT_LE(answer.low_ns, answer.ns);
    EXPECT_GE(answer.high_ns, answer.ns);
  }
}

TEST(Series, ABarrierHasNoSize) {
  const SeriesKey key{CommKind::kBarrier, true, 1, et_schema::DType::kFloat32};
  std::vector<CollectiveRow> rows = {exact_row(CommKind::kBarrier, 0, 2),
                                     exact_row(CommKind::kBarrier, 0, 8)};
  const Series series = fit_series(key, rows);
  EXPECT_NEAR(estimate(series, 0, 4).ns, exact_row(CommKind::kBarrier, 0, 4).median_ns, 1e-3);
}

}  // namespace
}  // namespace understudy::predictor
