// The recorded step, with each launch and wait at its moment.

#include <gtest/gtest.h>

#include "../simulate/hand_made.h"
#include "predictor/simulate/predict.h"
#include "predictor/what_if/recorded_costs.h"
#include "predictor/what_if/what_if.h"

namespace understudy::predictor {
namespace {

using et_schema::DeviceWait;
using et_schema::DeviceWork;
using et_schema::Outside;
using et_schema::Timing;
using testing::HandMade;

constexpr std::int64_t kUs = 1'000;

/// Times in microseconds.
DeviceWork work_of(std::optional<std::uint32_t> instruction, std::int64_t launch_us,
                   std::int64_t start_us, std::int64_t us, std::int64_t stream = 7) {
  return {.instruction = instruction,
          .why = Outside::kGraphLaunch,
          .launch_ns = launch_us * kUs,
          .lag_ns = (start_us - launch_us) * kUs,
          .start_ns = start_us * kUs,
          .device_ns = us * kUs,
          .stream = stream};
}

DeviceWait wait_for(DeviceWait::For what, std::int64_t start_us, std::int64_t us,
                    std::int64_t own_us, std::optional<std::uint32_t> work = {}) {
  return {.start_ns = start_us * kUs,
          .host_ns = us * kUs,
          .waits_for = what,
          .own_ns = own_us * kUs,
          .work = work};
}

/// Products of 20 us of the host at these times, each reading the result of the one before.
void add_products(HandMade& made, const std::vector<std::int64_t>& starts_us,
                  std::int64_t step_us) {
  made.begin_program();
  auto before = made.cuda();
  for (const std::int64_t start_us : starts_us) {
    const auto result = made.cuda();
    made.op("aten::mm", {before}, {result}, {}).timing =
        Timing{.start_ns = start_us * kUs, .host_ns = 20 * kUs};
    before = result;
  }
  made.program().profile.emplace().step_ns = step_us * kUs;
}

/// Gives the instructions the sums of their work.
void add_work(HandMade& made, std::vector<DeviceWork> work) {
  for (const DeviceWork& one : work) {
    if (one.instruction) {
      Timing& timing = *made.program().instructions[*one.instruction].timing;
      timing.device_ns += one.device_ns;
      ++timing.launches;
      timing.stream = timing.stream.value_or(one.stream);
    }
  }
  made.program().device_work = std::move(work);
}

double iteration_us(const Job& job, const std::vector<WhatIf>& questions = {}) {
  const RecordedCosts costs(job);
  return simulate(job, WhatIfCosts(costs, questions)).iteration_ns / kUs;
}

TEST(RecordedStep, EachPieceOfWorkIsSimulatedOnceWhateverLaunchedIt) {
  HandMade made;
  add_products(made, {10}, 100);
  add_work(made, {work_of(0, 12, 20, 1000), work_of({}, 40, 1021, 5000),
                  work_of({}, 100, 1030, 1000, 9)});
  const Job job = made.job();
  EXPECT_EQ(iteration_us(job), 6021);
  const RecordedCosts costs(job);
  const et_schema::Prediction prediction = prediction_of(job, simulate(job, costs));
  EXPECT_NEAR(prediction.breakdown_ms.compute, 6.0, 0.01);
  EXPECT_EQ(prediction.bound_by, "compute");
  EXPECT_EQ(prediction.critical_path.front().name, "graph launch");
  EXPECT_EQ(prediction.critical_path.front().where, "device");
}

/// A graph of a product and a reduction, behind a product.
TEST(RecordedStep, KernelsThatCommunicateAreCommunicationWhoeverLaunchedThem) {
  HandMade made;
  add_products(made, {10}, 100);
  std::vector<DeviceWork> work = {work_of(0, 12, 20, 1000), work_of({}, 40, 1021, 500),
                                  work_of({}, 40, 1522, 3000)};
  work[2].why = Outside::kUnseenComm;
  add_work(made, work);
  made.program().profile->outside = {
      {Outside::kGraphLaunch, "", 0, 500 * kUs, {{"matmul", 500 * kUs}}},
      {Outside::kUnseenComm, "graph launch", 0, 3000 * kUs, {{"communication", 3000 * kUs}}}};
  const Job job = made.job();
  const RecordedCosts costs(job);
  const Simulation simulation = simulate(job, costs);
  const et_schema::Prediction prediction = prediction_of(job, simulation);
  EXPECT_NEAR(prediction.breakdown_ms.exposed_communication, 3.0, 0.01);
  EXPECT_NEAR(prediction.bound_ms.exposed_communication, 3.0, 0.01);
  EXPECT_EQ(prediction.bound_by, "communication");
  EXPECT_EQ(iteration_us(job) - iteration_us(job, {parse_what_if("network x0.5")}), 1500);
  EXPECT_NEAR(iteration_us(job) - iteration_us(job, {parse_what_if("matmul x0")}), 1500, 50);
  const auto changes = changes_of(job, simulation, {parse_what_if("network x0.5")});
  EXPECT_EQ(changes.front().rows.front().name, "unseen communication");
  EXPECT_EQ(changes.front().rows.front().after_ms, 1.5);
  const auto unheld = unheld_times(made.program(), simulation.costs[0], simulation.outside[0]);
  ASSERT_EQ(unheld.size(), 2);
  EXPECT_EQ(unheld[0].name, "communication (unseen communication)");
  EXPECT_EQ(unheld[0].recorded_ms, 3);
}

/// The device does nothing for 8 ms: before a kernel that was launched, or in a synchronization.
TEST(RecordedStep, WaitsForWhatTheProfileDoesNotShowAreNamed) {
  const auto bound_by = [](std::vector<DeviceWork> work, const DeviceWait& wait) {
    HandMade made;
    add_products(made, {10, 40}, 8200);
    add_work(made, std::move(work));
    made.program().profile->device_waits = {wait};
    const Job job = made.job();
    const RecordedCosts costs(job);
    const et_schema::Prediction prediction = prediction_of(job, simulate(job, costs));
    EXPECT_NEAR(prediction.bound_ms.idle, 8.0, 0.1);
    EXPECT_NEAR(prediction.breakdown_ms.idle, 8.0, 0.1);
    EXPECT_EQ(prediction.critical_path.front().where, "wait");
    EXPECT_NEAR(prediction.iteration_ms.value, 8.2, 0.02);
    return prediction.bound_by + ", " + prediction.critical_path.front().name;
  };
  EXPECT_EQ(bound_by({work_of(0, 12, 20, 10), work_of(1, 45, 8045, 60)},
                     wait_for(DeviceWait::For::kStream, 70, 8040, 5, 1)),
            "waits for something outside of the profile, aten::mm");
  EXPECT_EQ(bound_by({work_of(0, 12, 20, 10), work_of(1, 45, 50, 10)},
                     wait_for(DeviceWait::For::kStream, 70, 8000, 8000, 1)),
            "waits for something outside of the profile, end of the step");
}

/// The second product's call waits for the first one's kernel, as reading a value does.
TEST(RecordedStep, AWaitInAnOperatorIsForItsWorkAndNoTimeOfTheHost) {
  HandMade made;
  add_products(made, {10, 40, 5060}, 10200);
  made.program().instructions[1].timing->host_ns = 5000 * kUs;
  add_work(made,
           {work_of(0, 12, 20, 5000), work_of(1, 45, 5021, 10), work_of(2, 5062, 5070, 5000)});
  made.program().profile->device_waits = {wait_for(DeviceWait::For::kStream, 50, 4985, 4, 1),
                                          wait_for(DeviceWait::For::kDevice, 5100, 4990, 20, 2)};
  const Job job = made.job();
  EXPECT_EQ(
      RecordedCosts(job).of_operator(*job.programs[0], job.programs[0]->instructions[1]).host.ns,
      19 * kUs);
  EXPECT_EQ(iteration_us(job), 10200);
  // The host waits as much less as the kernels are shorter.
  EXPECT_NEAR(iteration_us(job, {parse_what_if("^aten::mm x0.5")}), 10200 - 5005, 10);
}

TEST(RecordedStep, OverlapRefutesThatWorkWaitsForOtherStreams) {
  HandMade made;
  add_products(made, {10, 40, 70}, 10100);
  add_work(made,
           {work_of(0, 12, 50, 5000), work_of(1, 42, 50, 5000, 8), work_of(2, 72, 5060, 5000, 8)});
  made.program().profile->device_waits = {wait_for(DeviceWait::For::kDevice, 100, 9970, 10, 2)};
  const Job job = made.job();
  EXPECT_EQ(iteration_us(job), 10100);
  // The third one waits for the second.
  EXPECT_NEAR(iteration_us(job, {parse_what_if("^aten::mm x2")}), 20100, 50);
}

TEST(RecordedStep, StepsThatOverlapAreAsLongAsFromOneToTheNext) {
  HandMade made;
  add_products(made, {10, 40}, 100);
  add_work(made, {work_of(0, 12, 400, 300), work_of(1, 42, 701, 300)});
  const auto alone_us = iteration_us(made.job());
  EXPECT_EQ(alone_us, 1001);
  made.program().profile->host_runs_ahead = true;
  EXPECT_EQ(iteration_us(made.job()), 602) << "each kernel begins 1 us behind the one before";
}

/// Two devices: the host waits for the one whose work had ended when the wait did.
TEST(RecordedStep, AWaitForADeviceIsForWhatHadEndedThen) {
  HandMade made;
  add_products(made, {10, 40, 2100}, 5000);
  add_work(made,
           {work_of(0, 12, 20, 4900), work_of(1, 42, 60, 2000, 8), work_of(2, 2102, 2110, 9, 8)});
  made.program().profile->device_waits = {wait_for(DeviceWait::For::kDevice, 80, 2000, 20, 1)};
  EXPECT_EQ(iteration_us(made.job()), 5000);
}

}  // namespace
}  // namespace understudy::predictor
