// The timer of a device on its twin, the CPU, and the streams of a step: where each is issued and
// what it waits for.

#include "replayer/device/device_timing.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "gpu_observation.h"
#include "replayer/run/run_error.h"
#include "replayer/run/streams.h"
#include "testing/error_text.h"

namespace understudy::replayer::testing {
namespace {

using testing_errors::told;
using Steps = std::vector<std::uint32_t>;

TEST(DeviceTimer, TimesSpansOfAPass) {
  DeviceTimer timer(c10::Device(c10::kCPU), 3);
  timer.begin(0);
  timer.end(0);
  timer.begin(2);
  timer.end(2);
  const auto times_ms = timer.collect();
  ASSERT_EQ(times_ms.size(), 3U);
  EXPECT_TRUE(times_ms[0].has_value());
  EXPECT_FALSE(times_ms[1].has_value());
  EXPECT_TRUE(times_ms[2].has_value());
  EXPECT_FALSE(timer.collect()[0].has_value());
}

TEST(DeviceTimer, ARehearsalKeepsNothing) {
  DeviceTimer timer(c10::Device(c10::kCPU), 2);
  timer.begin(0);
  timer.end(0);
  timer.end_rehearsal();
  timer.begin(1);
  timer.end(1);
  const auto times_ms = timer.collect();
  EXPECT_FALSE(times_ms[0].has_value());
  EXPECT_TRUE(times_ms[1].has_value());
}

class DevicePassTest : public ReplayerTest {};

TEST(StepError, ADevicesMemoryIsNotTheHosts) {
  ProgramBuilder builder;
  const SlotId x = builder.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder.intermediate(DType::kFloat32, {4});
  Step step;
  step.source = &builder.add_op(kRelu, {ref(x)}, {ref(y)});
  const c10::OutOfMemoryError full({__func__, __FILE__, 1},
                                   "CUDA out of memory. Tried to allocate 2.00 GiB.");
  EXPECT_EQ(
      et_schema::to_text(step_error(builder.program(), step, full)),
      told("out of memory in aten::relu", "node: 101", "field: aten::relu(float32[4] strides [1])",
           "expected: memory of the device for its results",
           "got: CUDA out of memory. Tried to allocate 2.00 GiB.",
           "hint: Replay on a machine with more memory, or fewer ranks on this one (mpirun with "
           "several hosts, or --rank K for one rank alone)."));
}

TEST(Window, HoldsIterationsForTwoSecondsAndMore) {
  EXPECT_EQ(window_iterations(5), 440U);
  EXPECT_EQ(window_iterations(3000), 1U);
  EXPECT_EQ(window_iterations(0), 2'200'000U);
}

TEST_F(DevicePassTest, OfTheCpuNothingIsObserved) {
  GpuObservation observation{c10::Device(c10::kCPU)};
  observation.begin_iteration();
  observation.end_iteration();
  EXPECT_FALSE(observation.reads_health());
  observation.begin_window();
  observation.end_window(3, 0);
  std::optional<et_schema::GpuUse> use;
  observation.report(use);
  EXPECT_FALSE(use.has_value());
}

class StreamPlanTest : public ReplayerTest {
 protected:
  SlotId tensor() { return builder_.intermediate(DType::kFloat32, {4}); }
  void add(const char* schema, std::vector<Argument> args, SlotId result,
           std::optional<std::int64_t> stream) {
    et_schema::Timing timing;
    timing.stream = stream;
    builder_.add_op(schema, std::move(args), {ref(result)}).timing = timing;
  }
  StreamPlan plan() { return plan_streams(builder_.program(), try_out().program); }

  SlotId x_ = builder_.external(DType::kFloat32, {4}, constant(1));
};

TEST_F(StreamPlanTest, OneStreamNeedsNoPlan) {
  add(kRelu, {ref(x_)}, tensor(), 7);
  add(kRelu, {ref(x_)}, tensor(), std::nullopt);
  EXPECT_TRUE(plan().steps.empty());
}

TEST_F(StreamPlanTest, AReaderWaitsForTheWriterOnAnotherStream) {
  const SlotId a = tensor();
  const SlotId b = tensor();
  const SlotId c = tensor();
  add(kRelu, {ref(x_)}, a, 7);
  add(kRelu, {ref(a)}, b, 20);
  add(kMul, {ref(a), ref(b)}, c, 7);
  keep(c, sink(DType::kFloat32, {4}));
  const StreamPlan plan = this->plan();
  EXPECT_EQ(plan.streams, 2U);
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(plan.steps[0].stream, 0U);  // most steps are there
  EXPECT_EQ(plan.steps[1].stream, 1U);
  EXPECT_EQ(plan.steps[1].waits_for, Steps{0});
  EXPECT_EQ(plan.steps[2].stream, 0U);
  EXPECT_EQ(plan.steps[2].waits_for, Steps{1});
  EXPECT_EQ(plan.steps[3].stream, 0U);  // without one of its own: where the step before was
  EXPECT_TRUE(plan.steps[3].waits_for.empty());
  EXPECT_TRUE(plan.steps[0].is_waited_for);
  EXPECT_FALSE(plan.steps[2].is_waited_for);
  EXPECT_FALSE(plan.steps[0].uses_foreign_memory);
  EXPECT_TRUE(plan.steps[1].uses_foreign_memory);   // a, made on the first stream
  EXPECT_TRUE(plan.steps[2].uses_foreign_memory);   // b
  EXPECT_FALSE(plan.steps[3].uses_foreign_memory);  // c is at home, and the sink is never freed
}

TEST_F(StreamPlanTest, ReadersOfOneTensorDoNotWaitForEachOther) {
  add(kRelu, {ref(x_)}, tensor(), 7);
  add(kRelu, {ref(x_)}, tensor(), 20);
  add(kRelu, {ref(x_)}, tensor(), 7);
  for (const StreamStep& step : plan().steps) {
    EXPECT_TRUE(step.waits_for.empty());
  }
}

TEST_F(StreamPlanTest, CommunicationsAreOfTheCurrentStreamAndWaitForOthers) {
  const SlotId a = tensor();
  const SlotId b = tensor();
  add(kRelu, {ref(x_)}, tensor(), 7);
  add(kRelu, {ref(x_)}, a, 20);
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(a)}, {ref(a)});
  add(kRelu, {ref(a)}, b, 20);
  add(kRelu, {ref(b)}, tensor(), 7);
  const StreamPlan plan = this->plan();
  const auto& steps = result_.program.steps;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind == StepKind::kStart || steps[i].kind == StepKind::kJoin) {
      EXPECT_EQ(plan.steps[i].stream, 0U) << i;
      last = i;
    }
  }
  ASSERT_GT(last, 0U);
  const auto start = static_cast<std::size_t>(
      std::ranges::find(steps, StepKind::kStart, &Step::kind) - steps.begin());
  EXPECT_EQ(plan.steps[start].waits_for, Steps{1});  // who wrote a
  EXPECT_EQ(plan.steps[last + 1].stream, 1U);        // who reads a, where it was recorded
  EXPECT_EQ(plan.steps[last + 1].waits_for, Steps{last});
}

/// An all_gather on stream 20 beside operators on stream 7, which wait for its event.
TEST_F(StreamPlanTest, ACallOnAStreamOfItsOwnIsWaitedForWhereItsEventWas) {
  const SlotId whole = tensor();
  const auto at = [this](std::int64_t start_ns, std::int64_t stream) {
    return et_schema::Timing{.start_ns = start_ns, .stream = stream};
  };
  add(kRelu, {ref(x_)}, tensor(), 7);
  builder_.program().instructions.back().timing = at(10, 7);
  et_schema::Instruction& gather =
      builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x_)}, {ref(whole)});
  gather.comm->seq = 3;
  gather.comm->why = et_schema::kOwnStream;
  gather.timing = at(20, 20);
  add(kRelu, {ref(x_)}, tensor(), 7);
  builder_.program().instructions.back().timing = at(30, 7);
  et_schema::Instruction wait;
  wait.kind = et_schema::InstructionKind::kWait;
  wait.name = "wait";
  wait.comm.emplace().kind = et_schema::CommKind::kWait;
  wait.comm->seq = 3;
  wait.timing = at(40, 7);
  builder_.add(wait);
  add(kRelu, {ref(whole)}, tensor(), 7);
  builder_.program().instructions.back().timing = at(50, 7);
  builder_.program().profile.emplace().stream_waits = {{40, 7, 20, 25}, {45, 7, 99, 42}};
  const StreamPlan plan = this->plan();
  ASSERT_EQ(plan.steps.size(), 5U);
  EXPECT_EQ(plan.streams, 2U);
  EXPECT_EQ(result_.program.steps[1].kind, StepKind::kStart);
  EXPECT_EQ(plan.steps[1].stream, 1U);
  EXPECT_TRUE(plan.steps[2].waits_for.empty());  // what runs beside it waits for nothing
  EXPECT_EQ(result_.program.steps[3].kind, StepKind::kJoin);
  EXPECT_EQ(result_.program.comms[0].joined_by, JoinedBy::kWait);
  EXPECT_EQ(plan.steps[3].stream, 0U);
  EXPECT_EQ(plan.steps[3].waits_for, Steps{1});
  EXPECT_EQ(plan.inferred_waits, 0U);
  EXPECT_TRUE(plan.steps[4].waits_for.empty());  // its stream waits already
  EXPECT_EQ(plan.recorded_waits, 1U);
  EXPECT_EQ(plan.missing_waits, 1U);  // of a stream that nothing here runs on
}

TEST_F(StreamPlanTest, AWriterWaitsForReadersOnOtherStreams) {
  const SlotId other = builder_.external(DType::kFloat32, {4}, constant(1));
  add(kRelu, {ref(x_)}, tensor(), 20);
  add(kRelu, {ref(x_)}, tensor(), 20);
  add(kRelu, {ref(other)}, tensor(), 7);
  builder_.add_op(kAddInPlace, {ref(x_), ref(other), number(1)}, {ref(x_)}).timing =
      builder_.program().instructions[2].timing;
  add(kRelu, {ref(other)}, tensor(), 7);
  const StreamPlan plan = this->plan();
  EXPECT_EQ(plan.steps[3].stream, 0U);
  EXPECT_EQ(plan.steps[3].waits_for, Steps{1});  // the later of the two: it is behind the other
}

}  // namespace
}  // namespace understudy::replayer::testing
