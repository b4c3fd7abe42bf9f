// The timer of a device on its twin, the CPU, and the streams of a step: where each is issued and
// what it waits for.

#include "replayer/device_timing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "fixture.h"
#include "gpu_observation.h"
#include "streams.h"

namespace understudy::replayer::testing {
namespace {

using Steps = std::vector<std::uint32_t>;

TEST(DeviceTimer, TimesSpansOfAPass) {
  DeviceTimer timer(c10::Device(c10::kCPU), 3);
  timer.begin(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  timer.end(0);
  timer.begin(2);
  timer.end(2);
  const auto times_ms = timer.collect();
  ASSERT_EQ(times_ms.size(), 3U);
  EXPECT_GE(times_ms[0], 5.0);
  EXPECT_FALSE(times_ms[1].has_value());
  EXPECT_TRUE(times_ms[2].has_value());
  EXPECT_FALSE(timer.collect()[0].has_value());
}

class DevicePassTest : public ReplayerTest {};

TEST_F(DevicePassTest, TimesOperatorsByName) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kRelu, {ref(x)}, {ref(y)});
  keep(y, sink(DType::kFloat32, {4}));
  const TrialResult& result = try_out();
  DeviceTimeHook hook(result.program, c10::Device(c10::kCPU));
  machine_->run(result_.program, hook);
  std::vector<et_schema::OperatorTime> operators = {{"aten::relu", "elementwise", 1, 0.5},
                                                    {"aten::mm", "matmul", 1, 0.5}};
  hook.report(operators);
  EXPECT_GT(operators[0].device_ms, 0.0);
  EXPECT_FALSE(operators[1].device_ms.has_value());
}

TEST_F(DevicePassTest, OfTheCpuNothingIsObserved) {
  GpuObservation observation{c10::Device(c10::kCPU)};
  observation.begin();
  observation.note_iteration();
  std::optional<et_schema::GpuUse> use;
  observation.end(use);
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
}

TEST_F(StreamPlanTest, ReadersOfOneTensorDoNotWaitForEachOther) {
  add(kRelu, {ref(x_)}, tensor(), 7);
  add(kRelu, {ref(x_)}, tensor(), 20);
  add(kRelu, {ref(x_)}, tensor(), 7);
  for (const StreamStep& step : plan().steps) {
    EXPECT_TRUE(step.waits_for.empty());
  }
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
