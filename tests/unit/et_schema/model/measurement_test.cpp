// What a report says about its own measurement: intervals, warnings, waiting told from moving.

#include "et_schema/model/measurement.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {
namespace {

std::vector<double> one_to(int count) {
  std::vector<double> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

TEST(MedianInterval, FewerThanSixSamplesHaveNone) {
  EXPECT_FALSE(median_interval({}));
  EXPECT_FALSE(median_interval(one_to(5)));
  const auto six = median_interval(one_to(6));
  ASSERT_TRUE(six);
  EXPECT_EQ(six->low, 1);
  EXPECT_EQ(six->high, 6);
}

// Ranks from tables of the sign test, as in Conover, Practical Nonparametric Statistics (1999).
TEST(MedianInterval, HasTheRanksOfTheTables) {
  for (const auto& [count, rank] :
       {std::pair(8, 1), {9, 2}, {10, 2}, {15, 4}, {20, 6}, {25, 8}, {50, 18}, {100, 40}}) {
    const auto interval = median_interval(one_to(count));
    ASSERT_TRUE(interval) << count;
    EXPECT_EQ(interval->low, rank) << count;
    EXPECT_EQ(interval->high, count + 1 - rank) << count;
    EXPECT_EQ(interval->median, (count + 1) / 2.0) << count;
  }
}

TEST(MedianInterval, ManySamplesAreTakenAsNormal) {
  // By the exact sum 469 of 1000; the normal approximation continues it.
  EXPECT_EQ(median_interval(one_to(1000))->low, 469);
  EXPECT_EQ(median_interval(one_to(1001))->low, 469);
  EXPECT_EQ(median_interval(one_to(10'000))->low, 4902);
}

TEST(MedianInterval, LeavesOutWhatIsNotFinite) {
  std::vector<double> samples = one_to(6);
  samples.push_back(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(median_interval(samples)->high, 6);
  EXPECT_DOUBLE_EQ(median_interval(samples)->half_percent(), 2.5 / 3.5 * 100);
}

RankReport steady_rank(int rank = 0) {
  RankReport report;
  report.rank = rank;
  report.iteration_ms = iteration_stats(std::vector<double>(30, 10.0));
  report.counters["involuntary_switches"] = 0;
  report.host_load = HostLoad{1000, 8, 1000, 1000};
  report.measurement.timing_passes = 20;
  return report;
}

Environment threads(int count) {
  Environment environment;
  environment.threads = count;
  environment.hosts = {"a", "a", "b", "b"};
  return environment;
}

using Warnings = std::vector<MeasurementWarning>;

TEST(MeasurementWarnings, AQuietMachineHasNone) {
  const Report report = merge({steady_rank()}, {}, threads(1));
  EXPECT_EQ(report.warnings, Warnings());
  EXPECT_EQ(report.total.measurement.foreign_cpus, 0);
}

TEST(MeasurementWarnings, AWideIntervalSpoilsTheMedian) {
  RankReport rank = steady_rank();
  std::vector<double> samples(20, 10.0);
  samples.insert(samples.end(), 20, 11.0);
  rank.iteration_ms = iteration_stats(samples);
  EXPECT_EQ(merge({rank}, {}, threads(1)).warnings,
            (Warnings{{"iteration_ms",
                       "the median is known to ± 4.8 % only; --until 2% measures until it is"}}));
  rank.measurement.until_percent = 2;
  rank.measurement.ended_by = "seconds";
  EXPECT_EQ(merge({rank}, {}, threads(1)).warnings,
            (Warnings{{"iteration_ms",
                       "the median is known to ± 4.8 % only; --seconds gives --until more time, "
                       "and an idle machine needs less"}}));
  rank.iteration_ms = iteration_stats({10, 10});
  EXPECT_EQ(merge({rank}, {}, threads(1)).warnings,
            (Warnings{{"iteration_ms", "too few iterations to say how sure the median is"}}));
}

TEST(MeasurementWarnings, OthersOnTheCpus) {
  RankReport rank = steady_rank();
  rank.host_load->busy_ms = 2500;
  rank.counters["involuntary_switches"] = 4;
  const Report report = merge({rank}, {}, threads(1));
  EXPECT_EQ(report.total.measurement.foreign_cpus, 1.5);
  EXPECT_EQ(
      report.warnings,
      (Warnings{{"iteration_ms",
                 "each of our threads was interrupted 400 times a second: others want our CPUs"},
                {"iteration_ms", "others used 1.5 of the 8 CPUs of a"}}));
  EXPECT_EQ(
      merge({rank}, {}, threads(8)).warnings.back().text,
      "others used 1.5 of the 8 CPUs of a: operators may take many times as long, --threads 6 "
      "fits beside them");
}

TEST(MeasurementWarnings, OurOwnThreadsAreNoOthers) {
  RankReport rank = steady_rank();
  rank.counters["involuntary_switches"] = 4;  // our threads take turns: nobody else used a CPU
  EXPECT_EQ(interruptions_per_s(merge({rank}, {}, threads(1))), 0);
  EXPECT_EQ(merge({rank}, {}, threads(1)).warnings, Warnings());
  rank.host_load->busy_ms = 2500;
  EXPECT_EQ(interruptions_per_s(merge({rank}, {}, threads(1))), 400);
  EXPECT_EQ(interruptions_per_s(merge({rank}, {}, threads(8))), 50);
  rank.host_load.reset();  // what others did is not known
  EXPECT_EQ(interruptions_per_s(merge({rank}, {}, threads(1))), 400);
  rank.counters.erase("involuntary_switches");
  EXPECT_EQ(interruptions_per_s(merge({rank}, {}, threads(1))), std::nullopt);
}

TEST(MeasurementWarnings, AFewLongIterationsAreInTheTimeThatInterruptionsAreCountedOver) {
  RankReport rank = steady_rank();
  rank.host_load->busy_ms = 2500;
  rank.counters["involuntary_switches"] = 1;
  std::vector<double> samples(29, 10.0);
  samples.push_back(10 + 30 * 90);  // 100 ms in the mean
  rank.iteration_ms = iteration_stats(samples);
  EXPECT_EQ(interruptions_per_s(merge({rank}, {}, threads(1))), 10);
}

TEST(MeasurementWarnings, OurOtherRanksAreNoOthers) {
  std::vector<RankReport> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(steady_rank(rank));
    ranks.back().host_load->busy_ms = rank < 2 ? 2000 : 2750;
  }
  const Report report = merge(ranks, {}, threads(1));
  EXPECT_EQ(report.total.measurement.foreign_cpus, 0.75);
  EXPECT_EQ(report.warnings, (Warnings{{"iteration_ms", "others used 0.8 of the 8 CPUs of b"}}));
}

TEST(MeasurementWarnings, MoreThreadsThanCpus) {
  const Report alone = merge({steady_rank()}, {}, threads(16));
  EXPECT_EQ(alone.warnings,
            (Warnings{{"operators",
                       "1 rank of 16 threads share the 8 CPUs of a: who waits spins "
                       "in the way of who works"}}));
  RankReport rank = steady_rank();
  rank.host_load->cpus = 2;
  rank.host_load->busy_ms = 3000;
  const Report job = merge({rank, rank, rank}, {}, threads(1));
  EXPECT_EQ(job.warnings, (Warnings{{"iteration_ms", "others used 1.0 of the 2 CPUs of a"},
                                    {"iteration_ms", "others used 2.0 of the 2 CPUs of b"}}));
  const Report crowded = merge({rank, rank}, {}, threads(2));
  EXPECT_EQ(
      crowded.warnings[1],
      (MeasurementWarning{"collectives",
                          "2 ranks of 2 threads share the 2 CPUs of a: who waits spins in the "
                          "way of who works"}));
}

TEST(MeasurementWarnings, WhatARankDoesNotKnowIsNotToldOfItsHost) {
  RankReport rank = steady_rank();
  rank.host_load->busy_ms.reset();
  const Report unknown_load = merge({rank}, {}, threads(16));
  EXPECT_EQ(unknown_load.total.measurement.foreign_cpus, std::nullopt);
  EXPECT_EQ(unknown_load.warnings.size(), 1U);  // its CPUs are known
  rank.host_load.reset();
  const Report unknown = merge({rank, steady_rank()}, {}, threads(16));
  EXPECT_EQ(unknown.total.measurement.foreign_cpus, std::nullopt);
  EXPECT_EQ(unknown.warnings, Warnings());
}

TEST(MeasurementWarnings, OtherThreadsThanTheCapture) {
  Environment environment = threads(2);
  environment.settings["kernel.threads"] = "2";
  EXPECT_EQ(merge({steady_rank()}, {}, environment).warnings, Warnings());
  environment.settings["kernel.threads"] = "2, recorded 1";
  EXPECT_EQ(merge({steady_rank()}, {}, environment).warnings,
            (Warnings{{"iteration_ms",
                       "operators have 2 threads here and had 1 in the capture: --threads 1 "
                       "compares like with like"}}));
}

TEST(MeasurementWarnings, FewTimingPasses) {
  RankReport rank = steady_rank();
  rank.measurement.timing_passes = 1;
  EXPECT_EQ(merge({rank}, {}, threads(1)).warnings,
            (Warnings{{"operators", "of 1 timing pass only: --passes makes more"}}));
}

TEST(MeasurementWarnings, AreInTheFile) {
  RankReport rank = steady_rank();
  rank.measurement = {"SIGINT", 2.0, 3, 4, 16, "because"};
  rank.complete = false;
  const Report report = merge({rank}, {}, threads(16));
  const Report read = parse_report(to_json(report), "report.json");
  EXPECT_EQ(read.warnings, report.warnings);
  EXPECT_EQ(read.total.measurement, report.total.measurement);
  EXPECT_EQ(read.ranks[0].host_load, rank.host_load);
  EXPECT_FALSE(read.total.complete);
}

/// A call of 100 bytes on `ranks`; on rank r it takes the given time in each pass.
std::vector<RankReport> calls(const std::string& name,
                              const std::vector<std::vector<double>>& us_by_rank) {
  std::vector<RankReport> ranks;
  for (std::size_t rank = 0; rank < us_by_rank.size(); ++rank) {
    RankReport& report = ranks.emplace_back();
    report.rank = static_cast<int>(rank);
    CollectiveTime row;
    row.name = name;
    row.group = "world";
    row.count = 1;
    row.bytes = 100;
    row.group_size = static_cast<int>(us_by_rank.size());
    row.samples_us = us_by_rank[rank];
    row.median_us = iteration_stats(row.samples_us).median;
    report.collectives = {row};
  }
  return ranks;
}

class Waiting : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Measurement, Waiting, testing::Values(2, 3, 4, 8));

// The last rank arrives 1000 us after the others; moving the bytes takes 5 us more each pass.
TEST_P(Waiting, IsNotInTheCallOfTheRankThatCameLast) {
  std::vector<std::vector<double>> us_by_rank(static_cast<std::size_t>(GetParam()),
                                              {1005, 1010, 1015});
  us_by_rank.back() = {5, 10, 15};
  const CollectiveTime row = merge(calls("allreduce", us_by_rank), {}, {}).total.collectives[0];
  EXPECT_EQ(row.moving_us, 10);
  EXPECT_EQ(row.waiting_us, 1000);
  EXPECT_EQ(row.moving_samples_us, (std::vector<double>{5, 10, 15}));
  EXPECT_EQ(row.median_us, 1010);
}

// Rank r starts it 10 us after rank r - 1, and the host of rank 0 waits longest.
TEST_P(Waiting, ArrivalsAreComparedWhereEachRankTellsIts) {
  const auto size = static_cast<std::size_t>(GetParam());
  std::vector<RankReport> ranks = calls("allreduce", {size, std::vector<double>{5}});
  for (RankReport& rank : ranks) {
    CollectiveTime& row = rank.collectives[0];
    row.arrival_us = 100 + 10 * rank.rank;
    row.exposed_us = 50 - rank.rank;
    row.in_flight_us = 60 + rank.rank;
    rank.communication = {0.050 - 0.001 * rank.rank, 0.060, 0.25 + 0.01 * rank.rank};
  }
  const Report report = merge(ranks, {}, {});
  const CollectiveTime& row = report.total.collectives[0];
  EXPECT_EQ(row.arrival_spread_us, 10 * (GetParam() - 1));
  EXPECT_EQ(row.last_rank, GetParam() - 1);
  EXPECT_FALSE(row.arrival_us);
  EXPECT_EQ(row.exposed_us, 50);
  EXPECT_EQ(row.in_flight_us, 60 + GetParam() - 1);
  EXPECT_EQ(report.total.communication, (CommunicationUse{0.050, 0.060, 0.25}));
  const Report read = parse_report(to_json(report), "report");
  EXPECT_EQ(read.total.communication, report.total.communication);
  EXPECT_EQ(read.total.collectives[0].last_rank, row.last_rank);
  EXPECT_EQ(read.ranks[1].collectives[0].arrival_us, 110);
  ranks[0].collectives[0].arrival_us = std::nullopt;
  EXPECT_FALSE(merge(ranks, {}, {}).total.collectives[0].last_rank);
}

TEST_P(Waiting, IsTheLatestOfEachCall) {
  // In each pass another rank is the last.
  const auto ranks = static_cast<std::size_t>(GetParam());
  std::vector<std::vector<double>> us_by_rank(ranks, std::vector<double>(ranks, 500));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    us_by_rank[rank][rank] = 20;
  }
  const CollectiveTime row = merge(calls("barrier", us_by_rank), {}, {}).total.collectives[0];
  EXPECT_EQ(row.moving_us, 20);
  EXPECT_EQ(row.waiting_us, 480);
}

TEST_P(Waiting, IsNotToldWhereARankCanLeaveEarly) {
  const std::vector<std::vector<double>> us_by_rank(static_cast<std::size_t>(GetParam()), {7});
  for (const char* name :
       {"broadcast", "reduce", "gather", "scatter", "send", "recv", "all_to_allv"}) {
    const CollectiveTime row = merge(calls(name, us_by_rank), {}, {}).total.collectives[0];
    EXPECT_FALSE(row.moving_us) << name;
    EXPECT_TRUE(row.moving_samples_us.empty()) << name;
  }
}

/// Lengths (96 and 64 bytes) and then the rows themselves (3 and 2 MB), each in 1000 us; rank 1 is
/// slower, and sends less.
std::vector<RankReport> uneven_calls() {
  std::vector<RankReport> ranks(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ranks[rank].rank = static_cast<int>(rank);
    for (const std::uint64_t scale : {1U, 1U << 15U}) {
      CollectiveTime row;
      row.name = "all_to_allv";
      row.group = "world";
      row.count = 1;
      row.bytes = (rank == 0 ? 96 : 64) * scale;
      row.group_size = 2;
      row.median_us = rank == 0 ? 900 : 1000;
      row.algbw_gb_per_s = static_cast<double>(row.bytes) / *row.median_us * 1e-3;
      row.busbw_gb_per_s = *row.algbw_gb_per_s / 2;
      ranks[rank].collectives.push_back(row);
    }
  }
  return ranks;
}

TEST(UnevenCollectives, HaveARowEachOfTheJobsSize) {
  const auto total = merge(uneven_calls(), {}, {}).total;
  ASSERT_EQ(total.collectives.size(), 2U);
  EXPECT_EQ(total.collectives[0].bytes, 96U);
  EXPECT_EQ(total.collectives[1].bytes, 96U << 15U);
  EXPECT_EQ(total.collectives[1].count, 2U);
  EXPECT_DOUBLE_EQ(*total.collectives[1].algbw_gb_per_s, (96 << 15) / 1000.0 * 1e-3);
}

TEST(UnevenCollectives, ThatNothingPairsHaveARowASize) {
  std::vector<RankReport> ranks = uneven_calls();
  ranks[1].collectives.pop_back();
  EXPECT_EQ(merge(ranks, {}, {}).total.collectives.size(), 3U);
}

TEST(WaitingOf, GroupsThatLackARankIsNotTold) {
  std::vector<RankReport> ranks = calls("allreduce", {{5}, {7}, {9}});
  ranks.pop_back();
  EXPECT_FALSE(merge(ranks, {}, {}).total.collectives[0].moving_us);
  ranks = calls("allreduce", {{5, 6}, {7, 8}});
  ranks[1].collectives[0].samples_us.pop_back();
  EXPECT_FALSE(merge(ranks, {}, {}).total.collectives[0].moving_us);
  EXPECT_FALSE(merge(calls("allreduce", {{5}}), {}, {}).total.collectives[0].moving_us);
}

}  // namespace
}  // namespace understudy::et_schema
