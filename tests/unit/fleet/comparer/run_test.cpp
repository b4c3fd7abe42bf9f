#include "fleet/comparer/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <tuple>

#include "testing/error_text.h"

namespace understudy::comparer {
namespace {

using Samples = std::vector<double>;

const Series& find(const Run& run, RowKind kind, const std::string& name) {
  for (const Series& row : run.rows) {
    if (row.kind == kind && row.name == name) {
      return row;
    }
  }
  throw std::out_of_range("no row " + name);
}

void expect_times(const Series& row, const Samples& expected_ms) {
  ASSERT_EQ(row.samples_ms.size(), expected_ms.size());
  for (std::size_t i = 0; i < expected_ms.size(); ++i) {
    EXPECT_DOUBLE_EQ(row.samples_ms[i], expected_ms[i]) << row.name << ", sample " << i;
  }
}

et_schema::Report report_of(et_schema::RankReport rank) {
  return et_schema::merge({std::move(rank)}, {}, {});
}

TEST(ReportRun, ClassesAreSumsOfOperatorsByIteration) {
  et_schema::RankReport rank;
  rank.iteration_ms = et_schema::iteration_stats({10, 11});
  rank.operators = {{"aten::mm", "matmul", 2, 5.5, {5, 6}},
                    {"aten::addmm", "matmul", 1, 2.5, {2, 3}},
                    {"aten::add.Tensor", "elementwise", 3, 1, {1, 1}}};
  rank.gap_samples_ms = {2, 1};
  rank.speed_probe_samples_ms = {0.1, 0.2};
  const comparer::Run run = run_of(report_of(rank), "a.json");
  EXPECT_EQ(run.file, "a.json");
  EXPECT_EQ(find(run, RowKind::kIteration, "").samples_ms, (Samples{10, 11}));
  EXPECT_EQ(find(run, RowKind::kClass, "matmul").samples_ms, (Samples{7, 9}));
  EXPECT_EQ(find(run, RowKind::kClass, "matmul").count, 3U);
  EXPECT_EQ(find(run, RowKind::kOperator, "aten::mm").detail, "matmul");
  EXPECT_EQ(find(run, RowKind::kGap, "").samples_ms, (Samples{2, 1}));
  EXPECT_EQ(find(run, RowKind::kSpeedProbe, "").samples_ms, (Samples{0.1, 0.2}));
}

TEST(ReportRun, TheDevicesOwnTimesAreRowsOfTheirOwn) {
  et_schema::RankReport rank;
  rank.operators = {{"aten::mm", "matmul", 2, 5.5, {5, 6}, 1.0, 4.5, {4, 5}, 3.0},
                    {"aten::add.Tensor", "elementwise", 2, 2, {2}, {}, 1.0, {1}},
                    {"aten::add.out", "elementwise", 1, 2, {2}, {}, 1.0, {1}},
                    {"aten::view", "view", 1, 0.1, {0.1, 0.1}}};
  const comparer::Run run = run_of(report_of(rank), "a.json");
  EXPECT_EQ(find(run, RowKind::kOnDevice, "aten::mm").samples_ms, (Samples{4, 5}));
  EXPECT_EQ(find(run, RowKind::kOnDevice, "aten::mm").detail, "matmul");
  EXPECT_EQ(find(run, RowKind::kOperator, "aten::mm").samples_ms, (Samples{5, 6}));
  EXPECT_THROW((void)find(run, RowKind::kOnDevice, "aten::view"), std::out_of_range);
  const comparer::Run merged = without_overloads(run);
  EXPECT_EQ(find(merged, RowKind::kOnDevice, "aten::add").samples_ms, (Samples{2}));
  EXPECT_EQ(find(merged, RowKind::kOperator, "aten::add").samples_ms, (Samples{4}));
}

TEST(ReportRun, WithoutSamplesTheMeanIsTheOne) {
  et_schema::RankReport rank;
  rank.operators = {{"aten::mm", "matmul", 2, 5.5}};
  const comparer::Run run = run_of(report_of(rank), "old.json");
  EXPECT_EQ(find(run, RowKind::kOperator, "aten::mm").samples_ms, (Samples{5.5}));
}

TEST(ReportRun, CollectivesAreSummedByIteration) {
  et_schema::RankReport rank;
  rank.operators = {{"allreduce", "communication", 2, 1, {1, 1}}};
  rank.collectives = {{"allreduce", "world", 2, 4096, 8, 250.0, 1.0, 1.0, {100, 200, 300, 400}},
                      {"barrier", "world", 1, 0, 8, 50.0, {}, {}}};
  const comparer::Run run = run_of(report_of(rank), "a.json");
  const Series& allreduce = find(run, RowKind::kCollective, "allreduce");
  ASSERT_EQ(allreduce.samples_ms.size(), 2U);
  EXPECT_DOUBLE_EQ(allreduce.samples_ms[0], 0.4);  // both calls of the first pass
  EXPECT_DOUBLE_EQ(allreduce.samples_ms[1], 0.6);
  EXPECT_EQ(allreduce.detail, "world of 8, 4096 bytes");
  EXPECT_EQ(find(run, RowKind::kCollective, "barrier").samples_ms, (Samples{0.05}));
}

TEST(ReportRun, AMissingSampleOfACollectiveLeavesOutItsIteration) {
  et_schema::RankReport rank;
  rank.operators = {{"aten::mm", "matmul", 1, 1, {1, 1}}};
  rank.collectives = {{"allreduce",
                       "world",
                       2,
                       8,
                       8,
                       250.0,
                       1.0,
                       1.0,
                       {100, 200, std::numeric_limits<double>::quiet_NaN(), 400}},
                      {"barrier", "world", 2, 0, 8, 50.0, 1.0, 1.0, {100, 200, 600}}};
  const comparer::Run run = run_of(report_of(rank), "a.json");
  EXPECT_EQ(find(run, RowKind::kCollective, "allreduce").samples_ms, (Samples{0.2 + 0.4}));
  EXPECT_EQ(find(run, RowKind::kCollective, "barrier").samples_ms, (Samples{0.6}));
  EXPECT_EQ(run.samples_left_out, 1U);
}

TEST(ReportRun, MovingBytesIsARowOfItsOwnWhereItIsToldFromWaiting) {
  et_schema::RankReport rank;
  rank.operators = {{"allreduce", "communication", 1, 1, {1, 1}}};
  rank.collectives = {{"allreduce", "world", 1, 8, 2, 250.0, 1.0, 1.0, {900, 800}}};
  rank.collectives[0].moving_samples_us = {100, 200};
  et_schema::Report report = report_of(rank);
  report.total.collectives = rank.collectives;
  const comparer::Run run = run_of(report, "a.json");
  ASSERT_GE(run.rows.size(), 2U);
  const Series& whole = run.rows[run.rows.size() - 2];
  const Series& moving = run.rows.back();
  EXPECT_EQ(whole.detail, "world of 2, 8 bytes");
  EXPECT_EQ(whole.samples_ms, (Samples{0.9, 0.8}));
  EXPECT_EQ(moving.name, "allreduce");
  EXPECT_EQ(moving.detail, "world of 2, 8 bytes, moving");
  EXPECT_EQ(moving.samples_ms, (Samples{0.1, 0.2}));
}

TEST(ReportRun, SaysWhatEndedIt) {
  et_schema::RankReport rank;
  EXPECT_EQ(run_of(report_of(rank), "a.json").interrupted_by, "");
  rank.complete = false;
  rank.measurement.ended_by = "SIGTERM";
  EXPECT_EQ(run_of(report_of(rank), "a.json").interrupted_by, "SIGTERM");
}

TEST(ReportRun, FiguresThatAreNotFiniteAreCounted) {
  et_schema::RankReport rank;
  rank.iteration_ms = et_schema::iteration_stats({1, std::numeric_limits<double>::quiet_NaN(), 2});
  const comparer::Run run = run_of(report_of(rank), "a.json");
  EXPECT_EQ(find(run, RowKind::kIteration, "").samples_ms, (Samples{1, 2}));
  EXPECT_EQ(run.samples_left_out, 1U);
}

TEST(ReportRun, OverloadsMerge) {
  et_schema::RankReport rank;
  rank.operators = {{"aten::add.Tensor", "elementwise", 3, 1, {1, 2}},
                    {"aten::add.Scalar", "elementwise", 1, 1, {3, 4}}};
  const comparer::Run run = without_overloads(run_of(report_of(rank), "a.json"));
  EXPECT_EQ(operator_names(run), (std::set<std::string>{"aten::add"}));
  EXPECT_EQ(find(run, RowKind::kOperator, "aten::add").samples_ms, (Samples{4, 6}));
  EXPECT_EQ(find(run, RowKind::kOperator, "aten::add").count, 4U);
}

/// Two steps: linear with addmm and t below it, called on one thread; a backward mm on another,
/// below autograd's wrappers; an operator outside of the steps.
constexpr const char* kProfile = R"({"schemaVersion": 1, "traceEvents": [
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":1000},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":1000,"dur":2000},
  {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":100,"dur":300},
  {"ph":"X","cat":"cpu_op","name":"aten::t","pid":1,"tid":1,"ts":110,"dur":40},
  {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":160,"dur":200},
  {"ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: MmBackward0","pid":1,"tid":2,"ts":500,"dur":400},
  {"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":1,"tid":2,"ts":510,"dur":380},
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":520,"dur":350},
  {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":1100,"dur":500},
  {"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":1,"tid":2,"ts":2000,"dur":100},
  {"ph":"X","cat":"cpu_op","name":"aten::add_","pid":1,"tid":1,"ts":5000,"dur":77}]})";

comparer::Run run_of_profile(const et_schema::Profile& profile,
                             const std::set<std::string>& known) {
  return run_of(profile, et_schema::device_timeline(profile), known);
}

TEST(ProfileRun, TopLevelOperatorsOfEachStep) {
  const comparer::Run run = run_of_profile(et_schema::parse_kineto(kProfile, "p.json"), {});
  EXPECT_TRUE(run.is_profile);
  EXPECT_EQ(operator_names(run),
            (std::set<std::string>{"aten::linear", "aten::mm", "c10d::allreduce_"}));
  expect_times(find(run, RowKind::kIteration, ""), {1, 2});
  expect_times(find(run, RowKind::kOperator, "aten::linear"), {0.3, 0.5});
  expect_times(find(run, RowKind::kOperator, "aten::mm"), {0.35, 0});
  expect_times(find(run, RowKind::kClass, "matmul"), {0.65, 0.5});
  expect_times(find(run, RowKind::kClass, "communication"), {0, 0.1});
  expect_times(find(run, RowKind::kGap, ""), {0.35, 1.4});
}

TEST(ProfileRun, OpensAnOperatorThatTheBenchmarkOpened) {
  const comparer::Run run =
      run_of_profile(et_schema::parse_kineto(kProfile, "p.json"), {"aten::addmm", "aten::mm"});
  // Of linear, what its parts leave: 300 − 40 − 200 µs. Below it nothing else is known by name.
  expect_times(find(run, RowKind::kOperator, "aten::addmm"), {0.2, 0});
  expect_times(find(run, RowKind::kOperator, "aten::t"), {0.04, 0});
  expect_times(find(run, RowKind::kOperator, "aten::linear"), {0.06, 0.5});
}

TEST(ProfileRun, TheDevicesOwnTimesGoToTheOperatorsThatLaunched) {
  std::string text = kProfile;
  text.resize(text.rfind(']'));
  for (const auto& [at, tid, correlation] : {std::tuple(200, 1, 5), {600, 2, 6}, {950, 1, 7}}) {
    text += fmt::format(
        R"(,{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{1},"ts":{0},"dur":2,
            "args":{{"correlation":{2}}}}},
           {{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{0},"dur":{2}0,
            "args":{{"correlation":{2}}}}})",
        at, tid, correlation);
  }
  const et_schema::Profile profile = et_schema::parse_kineto(text + "]}", "p.json");
  const comparer::Run run = run_of_profile(profile, {});
  expect_times(find(run, RowKind::kOnDevice, "aten::linear"), {0.05, 0});
  expect_times(find(run, RowKind::kOnDevice, "aten::mm"), {0.06, 0});
  EXPECT_THROW((void)find(run, RowKind::kOnDevice, "c10d::allreduce_"), std::out_of_range);
  const comparer::Run opened = run_of_profile(profile, {"aten::addmm", "aten::mm"});
  expect_times(find(opened, RowKind::kOnDevice, "aten::addmm"), {0.05, 0});
  EXPECT_THROW((void)find(opened, RowKind::kOnDevice, "aten::linear"), std::out_of_range);
}

TEST(ProfileRun, WithoutStepsAllIsOne) {
  const comparer::Run run = run_of_profile(et_schema::parse_kineto(R"({"traceEvents": [
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":100,"dur":300},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":500,"dur":100}]})",
                                                                   "p.json"),
                                           {});
  expect_times(find(run, RowKind::kIteration, ""), {0.5});
  expect_times(find(run, RowKind::kOperator, "aten::mm"), {0.4});
  EXPECT_EQ(find(run, RowKind::kOperator, "aten::mm").count, 2U);
}

TEST(ProfileRun, RefusesAProfileWithoutOperators) {
  const et_schema::Profile profile = et_schema::parse_kineto(
      R"({"traceEvents": [{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":3}]})",
      "gpu.json");
  EXPECT_EQ(error_of([&] { return run_of_profile(profile, {}); }),
            "a profile without operators\n"
            "  file:     gpu.json\n"
            "  field:    traceEvents\n"
            "  expected: events of the category cpu_op within a step\n"
            "  got:      none among 1 events\n"
            "  hint:     profile with ProfilerActivity.CPU");
}

}  // namespace
}  // namespace understudy::comparer
