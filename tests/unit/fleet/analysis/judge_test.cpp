#include "fleet/analysis/judge.h"

#include <gtest/gtest.h>

#include "et_schema/model/measurement.h"

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
  report.total.counters.involuntary_switches = switches_per_s * ms / 1e3;
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
            "1.30 times as long as before, but others interrupted our threads 400 times a second; "
            "replay on an idle machine");
  EXPECT_EQ(judge({report_of(10)}, report_of(10, 400)).change, Change::kNone);
}

}  // namespace
}  // namespace understudy::fleet
