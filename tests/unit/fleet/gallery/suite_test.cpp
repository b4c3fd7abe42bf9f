#include "fleet/gallery/suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "et_schema/formats/bench/bench.h"
#include "synthetic.h"
#include "testing/error_text.h"
#include "testing/made_program.h"
#include "testing/temporary_folder.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

using et_schema::Report;

/// Three replays on a machine; `slowdown` of a class.
std::vector<Report> replays(std::uint64_t seed, const std::string& slow_class = "",
                            double slowdown = 1) {
  std::vector<Report> reports;
  for (std::uint64_t i = 0; i < 3; ++i) {
    reports.push_back(
        comparer::make_report({.seed = seed + i, .slow_class = slow_class, .slowdown = slowdown}));
  }
  return reports;
}

SuiteReplays step_of(const std::string& name, std::vector<Report> here, std::vector<Report> there,
                     bool is_recorded = false) {
  SuiteReplays step;
  step.step.name = name;
  step.step.references = {{"H100", is_recorded, std::move(there)}};
  step.reports = std::move(here);
  return step;
}

const SuiteRow& class_of(const std::vector<SuiteRow>& rows, const std::string& name) {
  return *std::ranges::find(rows, name, &SuiteRow::name);
}

TEST(Suite, AMachineAgainstItselfIsWithinItsInterval) {
  const std::vector<SuitePlatform> platforms = compare_suite(
      {step_of("a", replays(1), replays(11)), step_of("b", replays(21), replays(31))});
  ASSERT_EQ(platforms.size(), 1U);
  const SuitePlatform& platform = platforms.front();
  EXPECT_LT(platform.speed.low, 1);
  EXPECT_GT(platform.speed.high, 1);
  ASSERT_EQ(platform.steps.size(), 2U);
  EXPECT_TRUE(platform.steps[0].by_iteration);
  for (const SuiteRow& row : platform.classes) {
    EXPECT_EQ(row.finding, "") << row.name;
  }
}

TEST(Suite, TheMeanIsGeometricAndItsEndsToo) {
  const std::vector<SuitePlatform> platforms =
      compare_suite({step_of("a", replays(1, comparer::kWholeStep, 2), replays(11)),
                     step_of("b", replays(21), replays(31, comparer::kWholeStep, 2))});
  const SuitePlatform& platform = platforms.front();
  const SuiteRow& slow = platform.steps[0];
  const SuiteRow& fast = platform.steps[1];
  EXPECT_NEAR(slow.speed.value, 0.5, 0.02);
  EXPECT_NEAR(fast.speed.value, 2, 0.08);
  EXPECT_NEAR(platform.speed.value, std::sqrt(slow.speed.value * fast.speed.value), 1e-9);
  // Each end covers the spread of sessions once.
  EXPECT_NEAR(platform.speed.low, std::sqrt(slow.speed.low * fast.speed.low), 1e-3);
  EXPECT_NEAR(platform.speed.high, std::sqrt(slow.speed.high * fast.speed.high), 1e-3);
  EXPECT_NEAR(std::log(platform.speed.value / platform.speed.low), 1.96 * std::sqrt(2) * 0.12,
              0.02);
}

TEST(Suite, ABusyMachineIsTold) {
  std::vector<Report> here = replays(1);
  here.back().total.counters["involuntary_switches"] = 20;  // in 100 ms
  EXPECT_TRUE(compare_suite({step_of("a", here, replays(11))}).front().was_busy);
  EXPECT_FALSE(compare_suite({step_of("a", replays(1), replays(11))}).front().was_busy);
}

TEST(Suite, EnvironmentsThatDifferAreListed) {
  std::vector<Report> here = replays(1);
  for (Report& report : here) {
    report.environment.versions["torch"] = "2.12.0";
    report.environment.hosts = {"a host"};
  }
  // Once, of any of the steps.
  const SuitePlatform platform =
      compare_suite({step_of("a", here, replays(11)), step_of("b", here, replays(31)),
                     step_of("c", replays(41), replays(51))})
          .front();
  ASSERT_EQ(platform.differences.size(), 1U);
  EXPECT_EQ(platform.differences[0].field, "versions.torch");
  EXPECT_EQ(platform.differences[0].a, "2.12.0");
  EXPECT_EQ(platform.differences[0].b, "–");
}

TEST(Suite, Sentences) {
  SuitePlatform platform{
      .name = "H100", .speed = {0.912, 0.889, 0.934}, .steps = {}, .classes = {}};
  platform.steps.resize(10);
  EXPECT_EQ(sentence_of(platform),
            "0.91 × the H100 (0.89 … 0.93) over 10 steps; no class differs from the whole.");
  platform.was_busy = true;
  EXPECT_EQ(sentence_of(platform),
            "0.91 × the H100 (0.89 … 0.93) over 10 steps; no class differs from the whole; unsure, "
            "since others used the CPUs.");
  platform.was_busy = false;
  platform.is_recorded = true;
  platform.classes = {{.name = "matmul", .share = 0.7, .finding = ""},
                      {.name = "attention", .share = 0.2, .finding = "less"},
                      {.name = "embedding", .share = 0.05, .finding = "more"},
                      {.name = "copy", .share = 0.041, .finding = "less"},
                      {.name = "sort", .share = 0.009, .finding = "more"}};
  EXPECT_EQ(sentence_of(platform),
            "0.91 × the H100, as recorded there (0.89 … 0.93) over 10 steps; less in attention, "
            "copy, more in embedding.");
  platform.speed = {0.912, 1e-57, 1e57};
  EXPECT_NE(sentence_of(platform).find(" (no interval of so few replays) over"), std::string::npos);
}

TEST(Suite, WhatASideDidNotRunCountsOnNeither) {
  std::vector<Report> here = replays(1, "optimizer", 5);
  here.front().total.coverage.stubbed = {{"aten::_fused_adam_", 1, "stub"}};
  const SuitePlatform platform = compare_suite({step_of("a", here, replays(11))}).front();
  EXPECT_FALSE(platform.steps[0].by_iteration);
  EXPECT_NEAR(platform.speed.value, 1, 0.03);
  EXPECT_NEAR(platform.steps[0].there_ms, 71, 3);
  EXPECT_TRUE(std::ranges::none_of(platform.classes,
                                   [](const SuiteRow& row) { return row.name == "optimizer"; }));
}

TEST(Suite, RecordedTimesAreOfOperatorsWithoutCommunication) {
  Report recorded;
  recorded.total.operators = {
      {.name = "aten::mm", .op_class = "matmul", .count = 1, .ms = 80},
      {.name = "allreduce", .op_class = "communication", .count = 1, .ms = 9}};
  const SuitePlatform platform =
      compare_suite({step_of("a", replays(1), {recorded}, true)}).front();
  EXPECT_TRUE(platform.is_recorded);
  EXPECT_FALSE(platform.steps[0].by_iteration);
  EXPECT_DOUBLE_EQ(platform.steps[0].there_ms, 80);
  EXPECT_NEAR(class_of(platform.classes, "matmul").speed.value, 80.0 / 60, 0.05);
  EXPECT_EQ(platform.classes.size(), 1U);
}

TEST(Suite, OperatorsOnADeviceCountByItsTime) {
  const auto on_device = [](std::vector<Report> reports, double factor) {
    for (Report& report : reports) {
      for (et_schema::OperatorTime& row : report.total.operators) {
        for (const double ms : row.samples_ms) {
          row.device_samples_ms.push_back(factor * ms);
        }
      }
    }
    return reports;
  };
  const SuitePlatform platform =
      compare_suite({step_of("a", on_device(replays(1), 0.5), on_device(replays(11), 0.25))})
          .front();
  EXPECT_NEAR(platform.speed.value, 1, 0.03);  // of iterations
  EXPECT_NEAR(class_of(platform.classes, "matmul").speed.value, 0.5, 0.03);
}

TEST(Suite, ClocksOfGpus) {
  const auto at_clock = [](double mhz) {
    std::vector<Report> reports = replays(1);
    for (Report& report : reports) {
      report.ranks.resize(1);
      report.ranks.front().gpu.emplace();
      report.ranks.front().gpu->health.emplace();
      report.ranks.front().gpu->health->samples.sm_clock_mean_mhz = mhz;
    }
    return reports;
  };
  EXPECT_EQ(gpu_clock_mhz(at_clock(1980)), 1980);
  EXPECT_EQ(gpu_clock_mhz(replays(1)), std::nullopt);
  const SuitePlatform platform =
      compare_suite({step_of("a", at_clock(990), at_clock(1980))}).front();
  EXPECT_EQ(platform.steps[0].clock, 0.5);
}

TEST(Suite, ReplaysComeAfterRecordedTimesAndMoreStepsLast) {
  SuiteReplays both = step_of("a", replays(1), replays(11));
  both.step.references.push_back({"A100", false, replays(41)});
  both.step.references.push_back({"H100", true, {replays(51).front()}});
  const std::vector<SuitePlatform> platforms =
      compare_suite({both, step_of("b", replays(21), replays(31)), step_of("c", {}, replays(61))});
  ASSERT_EQ(platforms.size(), 3U);
  EXPECT_TRUE(platforms[0].is_recorded);
  EXPECT_EQ(platforms[1].name, "A100");
  EXPECT_EQ(platforms[2].name, "H100");
  EXPECT_EQ(platforms[2].steps.size(), 2U);
}

TEST(Suite, FindingsNameFailuresAndMissingReferences) {
  SuiteReplays failed = step_of("a", {}, replays(1));
  failed.failure = "replay: out of memory";
  SuiteReplays alone = step_of("b", replays(1), {});
  alone.step.references.clear();
  alone.reports.back().warnings = {{"iteration_ms", "others used 1.5 of the 2 CPUs"}};
  EXPECT_EQ(findings_of({failed, alone}),
            (std::vector<std::string>{"a failed: replay: out of memory.", "b has no reference.",
                                      "b, 1 thing to know: Others used 1.5 of the 2 CPUs."}));
}

class Galleries : public testing::Test {
 protected:
  /// Writes a benchmark of one matrix product into a step's folder.
  void write_step(const std::string& file, const char* op, std::int64_t device_ns) {
    et_schema::Program program;
    const et_schema::SlotId in = testing_programs::add_tensor(program, {4, 4}, true);
    et_schema::Instruction call;
    call.name = op;
    call.schema = 0;
    program.schemas = {std::string(op) + "(Tensor self, Tensor mat2) -> Tensor"};
    call.args = {et_schema::Argument{et_schema::Argument::SlotRef{in}},
                 et_schema::Argument{et_schema::Argument::SlotRef{in}}};
    call.results = {et_schema::Argument{
        et_schema::Argument::SlotRef{testing_programs::add_tensor(program, {4, 4}, false)}}};
    call.timing = et_schema::Timing{.host_ns = 5000, .device_ns = device_ns, .launches = 1};
    program.instructions = {call};
    program.profile.emplace();
    program.profile->operators_ns = 5000;
    program.profile->operators_device_ns = device_ns;
    et_schema::Bench bench;
    bench.groups.resize(1);
    bench.groups.front().name = "world";
    bench.groups.front().ranks = {0};
    bench.sources.resize(1);
    bench.programs = {program};
    fs::create_directories((folder_ / file).parent_path());
    et_schema::write_bench(bench, (folder_ / file).string());
  }

  testing_files::TemporaryFolder folder_;
};

TEST_F(Galleries, HaveStepsWithTheirReferences) {
  write_step("step/bench.et", "aten::mm", 3000000);
  write_step("step/H200.et", "aten::mm", 2000000);
  fs::create_directories(folder_ / "programs");
  std::vector<GalleryStep> steps = read_gallery(folder_.path());
  ASSERT_EQ(steps.size(), 1U);
  GalleryStep& step = steps.front();
  EXPECT_EQ(step.name, "step");
  EXPECT_TRUE(step.on_device);
  EXPECT_EQ(step.classes, std::set<std::string>{"matmul"});
  ASSERT_EQ(step.references.size(), 1U);
  EXPECT_EQ(step.references[0].platform, "H200");
  EXPECT_TRUE(step.references[0].is_recorded);
  EXPECT_DOUBLE_EQ(step.references[0].reports.at(0).total.operators.at(0).ms, 2);

  std::vector<Report> reports = replays(1);
  for (Report& report : reports) {
    report.ranks.resize(1);
    report.environment.benchmark_hash = step.hash;
  }
  save_reference(step, "A100", reports);
  reports.pop_back();
  save_reference(step, "A100", reports);
  EXPECT_FALSE(fs::exists(reference_path(step, "A100", 3)));
  // A step's own folder is a gallery of one.
  const std::vector<GalleryStep> alone = read_gallery((folder_ / "step").string());
  ASSERT_EQ(alone.size(), 1U);
  ASSERT_EQ(alone[0].references.size(), 2U);
  EXPECT_EQ(alone[0].references[0].platform, "A100");
  EXPECT_EQ(alone[0].references[0].reports.size(), 2U);
}

TEST_F(Galleries, RefuseReferencesOfOtherWork) {
  write_step("step/bench.et", "aten::mm", 3000000);
  write_step("step/H200.et", "aten::relu", 2000000);
  EXPECT_EQ(error_of(et_schema::ErrorKind::kUsage, [&] { return read_gallery(folder_.path()); })
                .substr(0, 36),
            "the profiles are of different work\n ");
}

}  // namespace
}  // namespace understudy::fleet
