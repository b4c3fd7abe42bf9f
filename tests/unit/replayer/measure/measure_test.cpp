// What a measurement does between and around its iterations; no test looks at a time.

#include "replayer/measure/measure.h"

#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/max.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "cold_calls.h"
#include "fixture.h"
#include "hooks.h"
#include "pass_budget.h"
#include "sustained.h"

namespace understudy::replayer::testing {
namespace {

constexpr const char* kMulInPlace =
    "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";

class MeasureTest : public ReplayerTest {
 protected:
  MeasureTest() {
    options_.asked.warmup = 1;
    options_.asked.iterations = 40;
    options_.asked.passes = 6;
    options_.asked.monitor.stop_signal = &signal_;
    options_.asked.monitor.progress = [this](const PhaseProgress& at) {
      seen_.push_back(at);
      on_progress_(at);
    };
  }

  /// x ← x · factor, each iteration.
  void multiply(double factor, double start = 1) {
    const SlotId x = builder_.external(DType::kFloat32, {4}, constant(start));
    const SlotId y = builder_.external(DType::kFloat32, {4}, constant(factor));
    builder_.add_op(kMulInPlace, {ref(x), ref(y)}, {ref(x)});
    try_out();
  }
  et_schema::RankReport measure() {
    et_schema::RankReport report;
    Measurement(builder_.program(), result_.program, *machine_, *externals_, *backend_, options_)
        .run(report);
    return report;
  }
  std::vector<et_schema::MeasuredCall> rows_of_calls(et_schema::RankReport& report) {
    options_.asked.iterations = 0;
    options_.asked.operator_times = true;
    Measurement measurement(builder_.program(), result_.program, *machine_, *externals_, *backend_,
                            options_);
    measurement.run(report);
    return measurement.take_instruction_times();
  }
  /// Sends the signal when that many are done in the phase.
  void stop_at(Phase phase, std::size_t done, int signal = SIGINT) {
    on_progress_ = [this, phase, done, signal](const PhaseProgress& at) {
      if (at.phase == phase && at.done == done) {
        signal_ = signal;
      }
    };
  }

  MeasureOptions options_;
  std::atomic<int> signal_ = 0;
  std::vector<PhaseProgress> seen_;
  std::function<void(const PhaseProgress&)> on_progress_ = [](const PhaseProgress&) {};
};

TEST_F(MeasureTest, TellsItsPhasesInOrder) {
  multiply(1);
  const et_schema::RankReport report = measure();
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.measurement.ended_by, "iterations");
  EXPECT_EQ(report.measurement.timing_passes, 6U);
  std::vector<Phase> phases;
  for (const PhaseProgress& at : seen_) {
    if (phases.empty() || phases.back() != at.phase) {
      phases.push_back(at.phase);
    }
  }
  EXPECT_EQ(phases, (std::vector<Phase>{Phase::kValues, Phase::kWarmUp, Phase::kIterations,
                                        Phase::kTimingPasses}));
  EXPECT_EQ(seen_.back().done, 5U);
  EXPECT_EQ(seen_.back().total, 6U);
}

TEST_F(MeasureTest, OperatorsAreCalledColdAndThenWarm) {
  const SlotId x = builder_.external(DType::kFloat32, {4, 2}, constant(1));
  builder_.add_op("aten::t(Tensor(a) self) -> Tensor(a)", {ref(x)}, {});
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x)}, {ref(x)});
  try_out();
  options_.asked.cold = true;
  et_schema::RankReport report;
  const std::vector<et_schema::MeasuredCall> rows = rows_of_calls(report);
  EXPECT_EQ(report.measurement.timing_passes, 6U);
  EXPECT_FALSE(report.host_overhead_ns_per_operator.has_value());
  EXPECT_TRUE(report.gap_samples_ms.empty());
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rows[i].conditions->is_cold, i == 0);
    EXPECT_EQ(rows[i].host.n, 18U);
    EXPECT_GT(rows[i].host.min_ns, 0);
    ASSERT_EQ(rows[i].call.outputs.size(), 1U);  // as it returned them
    EXPECT_EQ(rows[i].call.outputs[0].sizes, (Sizes{2, 4}));
    EXPECT_EQ(rows[i].call.outputs[0].strides, (Sizes{1, 2}));
  }
  EXPECT_FALSE(rows[2].conditions.has_value());
  EXPECT_EQ(rows[2].host.n, 6U);
}

TEST_F(MeasureTest, SustainedCallsAreRowsBesideTheBursts) {
  multiply(2);
  options_.asked.sustained_s = 0.02;
  et_schema::RankReport report;
  const std::vector<et_schema::MeasuredCall> rows = rows_of_calls(report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[0].conditions.has_value());
  EXPECT_TRUE(rows[1].conditions->is_sustained && rows[1].host.min_ns > 0);
}

TEST_F(MeasureTest, SustainedCallsLeaveTheOperandsAsTheyWere) {
  multiply(2);
  externals_->restore();
  externals_->place(machine_->slots(), machine_->given());
  machine_->prime(result_.program);
  SustainedHook hook(*machine_, result_.program, c10::kCPU, 0.02, [](std::size_t) {});
  machine_->run(result_.program, hook);
  EXPECT_FALSE(hook.host_s[0].empty());
  EXPECT_EQ(machine_->slots()[0].max().item<float>(), 2);  // the program's own call
}

TEST(ColdCalls, ZerosWithoutMemoryAreInNoCache) {
  const at::Tensor zeros = at::_efficientzerotensor({8, 16});
  ASSERT_EQ(zeros.storage().data(), nullptr);
  evict_tensor(zeros);
}

TEST(LoopOverhead, IsToldWhereAClockCanTellIt) {
  EXPECT_EQ(loop_overhead(80, 30).ns_per_operator, 80);
  EXPECT_EQ(loop_overhead(30, 30).ns_per_operator, 30);
  EXPECT_EQ(loop_overhead(29.9, 30).ns_per_operator, std::nullopt);
  EXPECT_EQ(loop_overhead(-24.51, 30).ns_per_operator, std::nullopt);
  EXPECT_EQ(loop_overhead(std::nan(""), 30).ns_per_operator, std::nullopt);
  EXPECT_EQ(loop_overhead(-24.51, 30).resolution_ns, 30);
}

TEST(PassBudget, IsWhatAPersonWaitsFor) {
  EXPECT_EQ(pass_budget(std::nullopt, {}), (PassBudget{1, 0}));
  EXPECT_EQ(pass_budget(std::nullopt, std::vector<double>(3, 100)), (PassBudget{3, 300}));
  // A step of 60 ms and 50 iterations: three seconds, in place of 200 passes.
  EXPECT_EQ(pass_budget(std::nullopt, std::vector<double>(50, 60)), (PassBudget{200, 3000}));
  EXPECT_EQ(pass_budget(std::nullopt, std::vector<double>(20, 1)), (PassBudget{200, 2000}));
  EXPECT_EQ(pass_budget(7, std::vector<double>(50, 60)),
            (PassBudget{7, std::numeric_limits<double>::infinity()}));
}

TEST_F(MeasureTest, ASignalEndsTheIterationsAndKeepsThoseThatWereMade) {
  multiply(1);
  stop_at(Phase::kIterations, 5);
  const et_schema::RankReport report = measure();
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.measurement.ended_by, "SIGINT");
  EXPECT_EQ(report.iteration_ms.samples.size(), 5U);
  EXPECT_EQ(report.iteration_speed_probe_samples_ms.size(), 5U);
  EXPECT_EQ(report.measurement.timing_passes, 0U);
  EXPECT_TRUE(report.operators.empty());
}

TEST_F(MeasureTest, ASignalBeforeTheFirstIterationLeavesNone) {
  multiply(1);
  stop_at(Phase::kIterations, 0, SIGTERM);
  const et_schema::RankReport report = measure();
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.measurement.ended_by, "SIGTERM");
  EXPECT_TRUE(report.iteration_ms.samples.empty());
}

TEST_F(MeasureTest, ASignalInTheTimingPassesKeepsWholePasses) {
  multiply(1);
  stop_at(Phase::kTimingPasses, 4);
  const et_schema::RankReport report = measure();
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.iteration_ms.samples.size(), 40U);
  EXPECT_EQ(report.measurement.timing_passes, 4U);
  EXPECT_EQ(report.speed_probe_samples_ms.size(), 4U);
  EXPECT_EQ(report.gap_samples_ms.size(), 4U);
  ASSERT_EQ(report.operators.size(), 1U);
  EXPECT_EQ(report.operators[0].samples_ms.size(), 4U);
}

TEST_F(MeasureTest, AnOperatorThatItsBodyReplaysKeepsItsRecordedTime) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  Instruction outer = builder_.op("nobody::knows(Tensor self) -> Tensor", {ref(x)}, {ref(y)});
  outer.body = {builder_.op(kRelu, {ref(x)}, {ref(y)}), builder_.op(kRelu, {ref(y)}, {ref(y)})};
  outer.timing.emplace().host_ns = 5'000'000;
  builder_.add(outer);
  builder_.add(std::move(outer));
  try_out();
  const et_schema::RankReport report = measure();
  ASSERT_EQ(report.operators.size(), 1U);
  EXPECT_EQ(report.operators[0].name, "nobody::knows");
  EXPECT_EQ(report.operators[0].count, 2U);
  EXPECT_EQ(report.operators[0].recorded_ms, 10);
}

TEST_F(MeasureTest, ASignalDuringWarmUpWaitsForTheIterations) {
  multiply(1);
  stop_at(Phase::kWarmUp, 0);
  EXPECT_EQ(measure().iteration_ms.samples.size(), 0U);
}

TEST_F(MeasureTest, HealthyValuesAreRestoredEverySixteenIterations) {
  multiply(1);
  const et_schema::MeasurementUse use = measure().measurement;
  EXPECT_EQ(use.restore_every, 16U);
  // 1 warm-up, 40 iterations with 7 scans among them, 6 passes and 3 bare ones: 57 in all.
  EXPECT_EQ(use.restores, 3U);
  EXPECT_EQ(use.restore_reason,
            "no NaN, Inf or subnormal number within 16 iterations; more are not checked");
}

TEST_F(MeasureTest, ValuesThatOverflowAreRestoredBeforeTheyDo) {
  multiply(1e10);  // 1e40 after four
  const et_schema::RankReport report = measure();
  EXPECT_EQ(report.measurement.restore_every, 3U);
  EXPECT_EQ(report.measurement.restore_reason, "NaN, Inf or subnormal numbers after 4 iterations");
  EXPECT_EQ(report.values.inf, 0U);
}

TEST_F(MeasureTest, ValuesThatAnOperatorRefusesAreRestoredBeforeItDoes) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(0.3));
  const SlotId y = builder_.external(DType::kFloat32, {4}, constant(2));
  const SlotId loss = builder_.intermediate(DType::kFloat32, {});
  builder_.add_op(kMulInPlace, {ref(x), ref(y)}, {ref(x)});
  builder_.add_op(
      "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int "
      "reduction=1) -> Tensor",
      {ref(x), ref(x), none(), number(1)}, {ref(loss)});
  try_out();
  const et_schema::RankReport report = measure();  // 0.6, then 1.2, which is no probability
  EXPECT_EQ(report.measurement.restore_every, 1U);
  EXPECT_EQ(report.measurement.restore_reason, "an operator refuses its tensors in iteration 2");
  EXPECT_EQ(report.iteration_ms.samples.size(), 40U);
}

TEST_F(MeasureTest, OfALogarithmThatWasSeenToMeetZerosInfinitiesAreTheProgramsOwn) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(0));
  const SlotId magnitude = builder_.intermediate(DType::kFloat32, {4});
  const SlotId logarithm = builder_.intermediate(DType::kFloat32, {4});
  const SlotId sum = builder_.intermediate(DType::kFloat32, {});
  builder_.add_op("aten::abs(Tensor self) -> Tensor", {ref(x)}, {ref(magnitude)});
  builder_.add_op("aten::log(Tensor self) -> Tensor", {ref(magnitude)}, {ref(logarithm)});
  builder_.add_op("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                  {ref(logarithm), none()}, {ref(sum)});
  Program& program = builder_.program();
  program.storages[program.slots[magnitude].storage].zeros = 0.5;
  try_out();
  const et_schema::RankReport report = measure();
  EXPECT_EQ(report.values.inf, 0U);
  EXPECT_EQ(report.values.recorded_inf, 2U);
  EXPECT_TRUE(report.value_findings.empty());
  EXPECT_EQ(report.measurement.restore_every, 16U);
}

TEST_F(MeasureTest, WithoutRestoresTheyDriftAndTheReportSaysSince) {
  multiply(1e10);
  options_.asked.restores = false;
  const et_schema::RankReport report = measure();
  EXPECT_EQ(report.measurement.restores, 0U);
  EXPECT_EQ(report.measurement.restore_every, 0U);
  EXPECT_EQ(report.measurement.restore_reason, "--no-restore");
  EXPECT_EQ(report.values.inf, 1U);
  ASSERT_EQ(report.value_findings.size(), 1U);
  EXPECT_EQ(report.value_findings[0].kind, "inf");
  // Scans behind 1, 2, 4, … iterations are iterations too; one was the warm-up.
  EXPECT_EQ(report.value_findings[0].iteration, 2U);
}

}  // namespace
}  // namespace understudy::replayer::testing
