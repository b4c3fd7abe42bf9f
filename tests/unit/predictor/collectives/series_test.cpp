#include "predictor/collectives/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "synthetic_rows.h"

namespace understudy::predictor {
namespace {

const SeriesKey kKey{.kind = CommKind::kAllReduce};

TEST(Series, FindsLatencyAndBandwidth) {
  const Series series = fit_series(kKey, exact_rows(CommKind::kAllReduce, {2, 4, 8}));
  ASSERT_EQ(series.curves.size(), 3U);
  EXPECT_NEAR(series.curves[1].base.latency_ns, 6600 + 6 * 1080, 1e-3) << "six steps in a node";
  EXPECT_NEAR(series.curves[1].base.ns_per_byte, 0.1, 1e-9);
  EXPECT_EQ(series.curves[1].base.ramp_ns, 0);
  EXPECT_EQ(series.left_out.n, 3U * 8);
  EXPECT_NEAR(series.left_out.worst, 0, 1e-9);
}

class SeriesOfRanks : public testing::TestWithParam<int> {};

TEST_P(SeriesOfRanks, AnswersOtherSizesAndRanksOfAnExactMachine) {
  const int ranks = GetParam();
  const Series series = fit_series(kKey, exact_rows(CommKind::kAllReduce, {2, 4, 8}));
  for (const std::int64_t bytes : {0L, 64L, 5000L, 1L << 20, (1L << 28) + 3, 1L << 32}) {
    const Estimate answer = estimate(series, static_cast<double>(bytes), ranks);
    const double truth = exact_row(CommKind::kAllReduce, bytes, ranks).median_ns;
    EXPECT_NEAR(answer.ns / truth, 1, 1e-6) << bytes;
    EXPECT_LT(answer.low_ns, truth);
    EXPECT_GT(answer.high_ns, truth);
    const bool is_beyond = bytes < 1024 || bytes > 1L << 28;
    EXPECT_EQ(answer.extrapolated, is_beyond || ranks > 8) << bytes;
    EXPECT_TRUE(answer.modelled);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SeriesOfRanks, testing::Values(2, 3, 4, 8, 16));

/// Rows of all-gathers whose latency and time per byte depend on the ranks as told.
std::vector<CollectiveRow> rows_by(const std::vector<int>& ranks, double (*latency_ns)(int),
                                   double (*ns_per_byte)(int)) {
  std::vector<CollectiveRow> rows;
  for (const int n : ranks) {
    for (CollectiveRow& row : exact_rows(CommKind::kAllGatherBase, {n})) {
      row.median_ns =
          latency_ns(n) + ns_per_byte(n) * link_bytes(row.kind, static_cast<double>(row.bytes), n);
      rows.push_back(row);
    }
  }
  return rows;
}
const SeriesKey kGather{.kind = CommKind::kAllGatherBase};

TEST(Series, BeyondTheMeasuredRanksGrowthGoesOn) {
  const auto ring = [](int n) { return 4e3 + 2e3 * n; };
  const auto proportional = [](int n) { return 0.01 * n; };
  const Series series = fit_series(kGather, rows_by({4, 8}, ring, proportional));
  for (const int ranks : {2, 6, 16, 64}) {
    for (const double bytes : {1024.0, 1e5, 1e8}) {
      const double truth =
          ring(ranks) + proportional(ranks) * link_bytes(CommKind::kAllGatherBase, bytes, ranks);
      EXPECT_NEAR(estimate(series, bytes, ranks).ns / truth, 1, 0.08) << ranks << " " << bytes;
    }
  }
}

TEST(Series, BeyondTheMeasuredRanksNothingBecomesFaster) {
  const auto falling = [](int n) { return 8e4 / n; };
  const auto constant = [](int) { return 0.1; };
  const Series series = fit_series(kGather, rows_by({4, 8}, falling, constant));
  EXPECT_NEAR(estimate(series, 1024, 64).ns / estimate(series, 1024, 8).ns, 1.1, 0.15);
  const auto faster_links = [](int n) { return 0.8 / n; };
  const Series nvls = fit_series(kGather, rows_by({4, 8}, falling, faster_links));
  EXPECT_NEAR(estimate(nvls, 1e8, 64).ns / (0.1 * 1e8 * 63 / 64), 1, 0.01);
}

/// Small all-reduces of NCCL on nodes of eight cards: a ring, or from some nodes on a tree.
CollectiveRow small_row(std::int64_t bytes, int nodes, double tree_step) {
  CollectiveRow row = exact_row(CommKind::kAllReduce, bytes, 8 * nodes);
  row.nodes = nodes;
  row.median_ns = 8e3 + 2e3 * steps_of(row.kind, row.ranks, nodes, tree_step) +
                  0.02 * static_cast<double>(bytes);
  return row;
}

class SmallAllReduces : public testing::TestWithParam<double> {};

TEST_P(SmallAllReduces, PassFromARingToATree) {
  const SeriesKey key{.kind = CommKind::kAllReduce, .ranks_per_node = 8};
  std::vector<CollectiveRow> rows;
  for (const int nodes : {2, 4, 8}) {
    for (std::int64_t bytes = 512; bytes <= 1 << 28; bytes *= 4) {
      rows.push_back(small_row(bytes, nodes, GetParam()));
    }
  }
  const Series series = fit_series(key, rows);
  for (const int nodes : {16, 64, 256}) {
    const CollectiveRow row = small_row(512, nodes, GetParam());
    const Estimate answer = estimate(series, 512, row.ranks);
    // Eight nodes do not tell when a later tree begins: at the next number that fits.
    EXPECT_NEAR(answer.ns / row.median_ns, 1, GetParam() > 9 ? 0.3 : 0.05) << nodes;
    EXPECT_GT(answer.high_ns, row.median_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(TreeSteps, SmallAllReduces, testing::Values(1, 1.85, 4, 12));

/// Larger sizes reach the bandwidth slowly, as on NVLink, or at once.
TEST(Series, TheRampGoesOnBeyondTheMeasuredSizes) {
  for (const double ramp_ns : {0.0, 2e3, 8e3}) {
    const auto time_ns = [&](double bytes) {
      const double sent_ns = 0.01 * bytes;
      return 8e3 + sent_ns + 2 * std::sqrt(ramp_ns * sent_ns);
    };
    std::vector<CollectiveRow> rows;
    for (std::int64_t bytes = 512; bytes <= 1 << 25; bytes *= 2) {
      rows.push_back(exact_row(CommKind::kAllReduce, bytes, 2));
      rows.back().median_ns = time_ns(static_cast<double>(bytes));
    }
    const double large = 1 << 29;
    EXPECT_NEAR(estimate(fit_series(kKey, rows), large, 2).ns / time_ns(large), 1, 0.02) << ramp_ns;
  }
}

TEST(Series, BeyondTheMeasuredRanksIntervalsGrowWithTheLogarithm) {
  const Series series = fit_series(kKey, exact_rows(CommKind::kAllReduce, {4, 8}));
  const auto width = [&](int ranks) {
    const Estimate answer = estimate(series, 1 << 20, ranks);
    return std::log(answer.high_ns / answer.ns);
  };
  EXPECT_NEAR(width(16), 0.4 * std::log(2), 0.001);
  EXPECT_NEAR(width(256), 0.4 * std::log(32), 0.001);
}

TEST(Series, SteepGrowthIsLessCertain) {
  const auto constant = [](int) { return 1e4; };
  const auto square = [](int n) { return 0.01 * n * n; };
  const Series series = fit_series(kGather, rows_by({4, 8}, constant, square));
  const Estimate answer = estimate(series, 1 << 20, 16);
  EXPECT_NEAR(std::log(answer.high_ns / answer.ns), 0.3 * 2 * std::log(2), 0.02);
}

TEST(Series, OneNumberOfRanksGrowsByTheAlgorithm) {
  const Series series = fit_series(kKey, exact_rows(CommKind::kAllReduce, {4}));
  for (const std::int64_t bytes : {1024L, 1L << 20, 1L << 28}) {
    const Estimate answer = estimate(series, static_cast<double>(bytes), 32);
    const double truth = exact_row(CommKind::kAllReduce, bytes, 32).median_ns;
    EXPECT_NEAR(answer.ns / truth, 1, 1e-6) << bytes;
    EXPECT_GT(answer.high_ns / answer.ns, 10);
  }
}

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
  const auto base_ns = [&](double bytes) {
    const Base& base = series.curves.front().base;
    const double sent_ns = base.ns_per_byte * link_bytes(CommKind::kAllReduce, bytes, 2);
    return base.latency_ns + sent_ns + 2 * std::sqrt(base.ramp_ns * sent_ns);
  };
  const double share = (base_ns(static_cast<double>(rows[5].bytes)) / rows[5].median_ns +
                        base_ns(static_cast<double>(rows[6].bytes)) / rows[6].median_ns) /
                       2;
  EXPECT_NEAR(estimate(series, middle, 2).ns, base_ns(middle) / share, 1e-3);
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
  EXPECT_GT(series.sizes.between, 0.1);
  const Estimate between = estimate(series, 2048 * 4, 2);
  const Estimate on = estimate(series, 4096, 2);
  EXPECT_GT(between.high_ns / between.ns, 1.1);
  EXPECT_LT(on.high_ns / on.ns, 1.02);
}

TEST(Series, WithoutALatencyAPartOfTheShortestTimeIsOne) {
  std::vector<CollectiveRow> rows;
  for (std::int64_t mib = 1; mib <= 64; mib *= 2) {
    rows.push_back(exact_row(CommKind::kAllReduce, mib << 20U, 2));
    // Grows faster than its size: no latency fits.
    rows.back().median_ns = std::pow(static_cast<double>(mib), 1.2) * 1e5;
  }
  const Series series = fit_series(kKey, rows);
  const Estimate answer = estimate(series, 4, 2);
  EXPECT_GT(answer.ns, 2e3);
  EXPECT_LT(answer.ns, 5e4);
}

/// A profile often tells one size of a kind, and a small one.
TEST(Series, OneSizeLeavesLatencyAndBytesToAssumptions) {
  const Series series = fit_series(kKey, {exact_row(CommKind::kAllReduce, 192, 4)});
  EXPECT_NEAR(estimate(series, 192, 4).ns, exact_row(CommKind::kAllReduce, 192, 4).median_ns, 1e-6);
  const Estimate large = estimate(series, 1 << 28, 4);
  EXPECT_NEAR(large.ns / exact_row(CommKind::kAllReduce, 1 << 28, 4).median_ns, 1, 0.03);
  EXPECT_GT(large.high_ns / large.ns, 100) << "between constant and proportional";
  EXPECT_TRUE(large.extrapolated);
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
  const SeriesKey key{.kind = CommKind::kBarrier};
  std::vector<CollectiveRow> rows = {exact_row(CommKind::kBarrier, 0, 2),
                                     exact_row(CommKind::kBarrier, 0, 8)};
  const Series series = fit_series(key, rows);
  EXPECT_NEAR(estimate(series, 0, 4).ns, exact_row(CommKind::kBarrier, 0, 4).median_ns, 1e-3);
}

}  // namespace
}  // namespace understudy::predictor
