#include "fleet/analysis/judge.h"

#include <gtest/gtest.h>

#include "et_schema/model/measurement.h"
#include "synthetic.h"

namespace understudy::fleet {
namespace {

/// Thirty iterations about `ms`, two operators that share them.
et_schema::Report report_of(double ms, double switches_per_s = 0) {
  et_schema::Report report;
  report.world_size = 1;
  et_schema::OperatorTime mm{.name = "aten::mm", .op_class = "matmul", .count = 1};
  et_schema::OperatorTime relu{.name = "aten::relu", .op_class = "elementwise", .count = 1};
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) {
    const double shake = 1 + 0.001 * ((i * 7) % 11 - 5);
    samples.push_back(ms * shake);
    mm.samples_ms.push_back((ms - 2) * shake);
    relu.samples_ms.push_back(2 * shake);
  }
  mm.ms = ms - 2;
  relu.ms = 2;
  report.total.iteration_ms = et_schema::iteration_stats(samples);
  report.total.operators = {mm, relu};
  report.total.counters["involuntary_switches"] = switches_per_s * ms / 1e3;
  return report;
}

TEST(Judge, ASlowdownIsToldWithItsClassAndOperator) {
  const Judgement judgement = judge({report_of(10), report_of(10.01)}, report_of(13));
  EXPECT_EQ(judgement.change, Change::kSlower);
  EXPECT_NEAR(judgement.ratio, 1.3, 0.01);
  EXPECT_EQ(judgement.text,
            "1.30 times as long as before: matmul 1.37 times; operators: aten::mm 1.37 times");
}

TEST(Judge, WhatIsBelowTheLeastChangeIsNotTold) {
  const std::vector<et_schema::Report> before = {report_of(10), report_of(10.01)};
  EXPECT_EQ(judge(before, report_of(13), 0.4).change, Change::kNone);
  EXPECT_EQ(judge(before, report_of(13), 0.2).change, Change::kSlower);
}

TEST(Judge, OnABusyMachineAChangeIsNobodys) {
  const Judgement judgement = judge({report_of(10)}, report_of(13, 400));
  EXPECT_EQ(judgement.change, Change::kUnjudged);
  EXPECT_EQ(judgement.text,
            "1.30 times as long as before, but others interrupted each of our threads 400 times a "
            "second; replay on an idle machine");
  EXPECT_EQ(judge({report_of(10)}, report_of(10, 400)).change, Change::kNone);
}

/// The same on a machine that takes `probe_ms` for a fixed piece of work.
et_schema::Report with_probe(et_schema::Report report, double probe_ms) {
  for (std::size_t i = 0; i < report.total.iteration_ms.samples.size(); ++i) {
    report.total.speed_probe_samples_ms.push_back(probe_ms * (1 + 1e-4 * static_cast<double>(i)));
  }
  return report;
}

TEST(Judge, AMachineThatIsAsMuchSlowerIsNobodysSlowdown) {
  const std::vector<et_schema::Report> before = {with_probe(report_of(10), 1)};
  const Judgement machine = judge(before, with_probe(report_of(14), 1.4));
  EXPECT_EQ(machine.change, Change::kUnjudged);
  EXPECT_EQ(machine.text,
            "1.40 times as long as before, but the machine itself took 1.40 times as long for its "
            "speed probe");
  EXPECT_EQ(judge(before, with_probe(report_of(14), 1.8)).change, Change::kUnjudged);
  const Judgement both = judge(before, with_probe(report_of(16.8), 1.2));
  EXPECT_EQ(both.change, Change::kSlower);
  EXPECT_TRUE(both.text.ends_with("; the machine itself 1.20 times (speed probe)")) << both.text;
  EXPECT_EQ(judge(before, with_probe(report_of(14), 1)).change, Change::kSlower);
}

TEST(Judge, AFirstNightIsNotJudgedIfOthersDisturbedIt) {
  EXPECT_EQ(judge({}, report_of(13)).change, Change::kNone);
  const Judgement judgement = judge({}, report_of(13, 400));
  EXPECT_EQ(judgement.change, Change::kUnjudged);
  EXPECT_EQ(judgement.text,
            "no night before to hold it against, and others interrupted each of our threads 400 "
            "times a second; replay on an idle machine");
}

TEST(Judge, WhatASecondReplayDoesNotShowIsNoChange) {
  const auto of = [](Change change) {
    Judgement made;
    made.change = change;
    return made;
  };
  const auto told = [&](Change first, Change again) {
    return confirmed(of(first), of(again)).change;
  };
  EXPECT_EQ(told(Change::kSlower, Change::kSlower), Change::kSlower);
  EXPECT_EQ(told(Change::kSlower, Change::kNone), Change::kNone);
  EXPECT_EQ(told(Change::kSlower, Change::kFaster), Change::kNone);
  EXPECT_EQ(told(Change::kSlower, Change::kUnjudged), Change::kUnjudged);
  EXPECT_EQ(told(Change::kUnjudged, Change::kSlower), Change::kUnjudged);
  EXPECT_EQ(told(Change::kUnjudged, Change::kNone), Change::kNone);
}

// Runs whose truth is known (tests/benchmarks/verdicts.cpp measures rates with them): σ 0.4 % in
// every sample, and as much from night to night.
class Nights : public testing::Test {
 protected:
  static et_schema::Report replay(std::uint64_t seed, const char* op_class = "",
                                  double slowdown = 1, bool has_speed_probe = true) {
    return comparer::make_report({.seed = seed,
                                  .iterations = 40,
                                  .noise = {.machine_spread = 0.0028,
                                            .unseen_spread = 0.0028,
                                            .process_spread = 0.001,
                                            .sample_spread = 0.004,
                                            .drift_spread = 0,
                                            .drift_memory = 0,
                                            .interruptions = 0.01,
                                            .has_speed_probe = has_speed_probe},
                                  .slow_class = op_class,
                                  .slowdown = slowdown});
  }
  static std::vector<et_schema::Report> before(std::size_t nights, bool has_speed_probe = true) {
    std::vector<et_schema::Report> reports;
    for (std::uint64_t night = 1; night <= nights; ++night) {
      reports.push_back(replay(night, "", 1, has_speed_probe));
    }
    return reports;
  }
};

TEST_F(Nights, AClassThatCostsThreePerCentOfTheStepIsToldInTheFirst) {
  for (const std::size_t nights : {1U, 2U, 5U}) {
    for (const std::uint64_t seed : {101U, 102U, 103U}) {
      // The optimizer is 26 % of the step.
      const Judgement judgement = judge(before(nights), replay(seed, "optimizer", 1.13));
      EXPECT_EQ(judgement.change, Change::kSlower) << nights << " nights, seed " << seed;
      EXPECT_NE(judgement.text.find("optimizer 1.1"), std::string::npos) << judgement.text;
    }
  }
}

TEST_F(Nights, AStepThatIsLongerAllOverIsToldBesideTheMachinesClock) {
  for (const std::size_t nights : {1U, 2U, 5U}) {
    for (const std::uint64_t seed : {101U, 102U, 103U}) {
      EXPECT_EQ(judge(before(nights), replay(seed, comparer::kWholeStep, 1.04)).change,
                Change::kSlower)
          << nights << " nights, seed " << seed;
    }
  }
}

TEST_F(Nights, WithoutASpeedProbeSeveralNightsTellTheMachinesNoise) {
  const et_schema::Report tonight = replay(101, comparer::kWholeStep, 1.08, false);
  EXPECT_EQ(judge(before(1, false), tonight).change, Change::kNone);
  EXPECT_EQ(judge(before(5, false), tonight).change, Change::kSlower);
}

TEST_F(Nights, WithoutAChangeNothingIsTold) {
  for (std::uint64_t seed = 201; seed < 221; ++seed) {
    EXPECT_EQ(judge(before(1 + seed % 5), replay(seed)).change, Change::kNone) << seed;
  }
}

}  // namespace
}  // namespace understudy::fleet
