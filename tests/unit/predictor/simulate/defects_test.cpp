// The defects of the simulator that this one comes after, one test each: they are not here.
#include <gtest/gtest.h>

#include "hand_made.h"
#include "predictor/simulate/predict.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

using testing::HandMade;
using testing::round_times;
using testing::single_step;

TEST(Defects, OverlappingKernelsCountOnceAsActiveTime) {
  // Kernels at 0 to 10, 5 to 15 on another stream, and 20 to 25.
  HandMade made;
  made.begin_program();
  made.op("aten::a", {}, {made.cuda()}, {.device_ns = 10}, 7);
  made.op("aten::b", {}, {made.cuda()}, {.gap_ns = 5, .device_ns = 10}, 8);
  made.op("aten::c", {}, {made.cuda()}, {.gap_ns = 15, .device_ns = 5}, 7);
  const Breakdown parts = simulate(made.job(), made, single_step()).classes[0].breakdown;
  EXPECT_EQ(parts.compute_ns, 20);
  EXPECT_EQ(parts.sum_ns(), 25);
}

TEST(Defects, IdleTimeBetweenAnOperatorsLaunchesIsNoActiveTime) {
  // Four launches at 50, 150, 250 and 350 of kernels that take 10 each.
  HandMade made;
  made.begin_program();
  made.op("aten::a", {}, {made.cuda()}, {.host_ns = 400, .device_ns = 40, .launches = 4}, 7);
  const Job job = made.job();
  const Simulation simulation = simulate(job, made, single_step());
  const Breakdown parts = simulation.classes[0].breakdown;
  EXPECT_NEAR(parts.compute_ns, 40, 1e-9);
  EXPECT_NEAR(parts.host_bound_ns, 360, 1e-9);
  EXPECT_NEAR(parts.sum_ns(), 400, 1e-9);
  EXPECT_EQ(prediction_of(job, simulation).bound_by, "host");
}

TEST(Defects, TwoExposedCommunicationsInARowCountTwice) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda();
  made.comm(CommKind::kAllReduce, {x}, 0, 10, true);
  made.comm(CommKind::kAllReduce, {x}, 0, 10, true);
  made.op("aten::add", {x}, {made.cuda()}, {.device_ns = 4});
  const Breakdown parts = simulate(made.job(), made, single_step()).classes[0].breakdown;
  EXPECT_EQ(parts.exposed_communication_ns, 20);
  EXPECT_EQ(parts.compute_ns, 4);
}

TEST(Defects, WhatTheProgramHoldsRunsInEachIteration) {
  // An optimizer in the program is in all iterations, not in a fifth of them.
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 100});
  made.op("aten::_fused_adamw_", {}, {made.cpu()}, {.host_ns = 40});
  SimulateOptions options = round_times();
  for (const std::uint32_t iterations : {1U, 2U, 7U}) {
    options.iterations = iterations;
    EXPECT_EQ(simulate(made.job(), made, options).iteration_ns, 140);
  }
}

/// Keeps what it was asked.
class Asked final : public Costs {
 public:
  [[nodiscard]] OperatorCost of_operator(const Program&,
                                         const Instruction& instruction) const override {
    operators.push_back(&instruction);
    return {};
  }
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override {
    calls.push_back(call);
    return {};
  }
  [[nodiscard]] Estimate of_gap(const Program&, const Instruction&) const override { return {}; }
  mutable std::vector<const Instruction*> operators;
  mutable std::vector<GroupComm> calls;
};

TEST(Defects, CostsAreThoseOfTheProgramsOwnShapes) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda(512);
  made.op("aten::mm", {x}, {made.cuda()}, {});
  made.comm(CommKind::kAllReduce, {x}, 0, 0, true);
  Asked asked;
  const Job job = made.job({0, 0, 0});
  static_cast<void>(simulate(job, asked, round_times()));
  // Once each, of ranks that share a program too.
  EXPECT_EQ(asked.operators, (std::vector<const Instruction*>{&job.programs[0]->instructions[0],
                                                              &job.programs[0]->instructions[1]}));
  ASSERT_EQ(asked.calls.size(), 1);
  EXPECT_EQ(asked.calls[0].bytes, 512);
  EXPECT_EQ(asked.calls[0].ranks, 3);
  EXPECT_EQ(asked.calls[0].kind, CommKind::kAllReduce);
  EXPECT_TRUE(asked.calls[0].on_device);
  EXPECT_EQ(asked.calls[0].dtype, et_schema::DType::kFloat32);
  EXPECT_EQ(asked.calls[0].sides,
            (std::vector<const Instruction*>(3, &job.programs[0]->instructions[1])));
}

TEST(Defects, EachLaunchOfAnOperatorCounts) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda();
  made.op("aten::first", {x}, {made.cuda()}, {.device_ns = 1000});
  made.op("aten::var_mean", {x}, {made.cuda()}, {.device_ns = 50, .launches = 5});
  SimulateOptions options = single_step();
  options.device.kernel_gap_ns = 3;
  EXPECT_EQ(simulate(made.job(), made, options).iteration_ns, 1000 + 3 + 50 + 5 * 3);
}

TEST(Defects, NothingIsAddedToWhatACommunicationTakes) {
  for (const std::int64_t moving_ns : {1, 1000, 1'000'000}) {
    HandMade made;
    made.begin_program();
    made.comm(CommKind::kAllReduce, {made.cuda()}, 0, moving_ns, true);
    EXPECT_EQ(simulate(made.job({0, 0}), made, round_times()).iteration_ns, moving_ns);
  }
}

TEST(Defects, AReadValueHoldsTheHostBack) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda();
  made.op("aten::mm", {}, {x}, {.host_ns = 2, .device_ns = 80});  // 1 to 81
  made.op("aten::item", {x}, {}, {.host_ns = 4});
  made.op("aten::add", {made.cuda()}, {made.cuda()}, {.host_ns = 10, .device_ns = 1});
  EXPECT_EQ(simulate(made.job(), made, single_step()).classes[0].first_step_ns,
            81 + 2 + 10);  // half of a call that waits lies behind its wait
}

TEST(Defects, CopiesToAndFromTheHostHoldItBack) {
  for (const bool to_host : {true, false}) {
    HandMade made;
    made.begin_program();
    const auto x = made.cuda();
    const auto y = made.cpu();
    made.op("aten::mm", {}, {x}, {.host_ns = 2, .device_ns = 80}, 7);  // 1 to 81
    made.op("aten::_to_copy", {to_host ? x : y}, {to_host ? y : x}, {.host_ns = 4, .device_ns = 5},
            7);
    EXPECT_EQ(simulate(made.job(), made, single_step()).classes[0].first_step_ns, 81 + 5 + 2);
  }
}

TEST(Defects, ErrorsAreOfAStepAgainstAStep) {
  HandMade made;
  made.begin_program();
  auto& op = made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 100});
  op.timing = et_schema::Timing{.host_ns = 100};
  made.program().profile.emplace();
  made.program().profile->step_ns = 125;
  made.program().profile->unprofiled_step_ns = 120;
  const Job job = made.job();
  const Simulation simulation = simulate(job, RecordedCosts(job), round_times());
  et_schema::Prediction prediction = prediction_of(job, simulation);
  add_recorded_steps(job, simulation, prediction);
  const auto& step = *prediction.ranks[0].recorded_step;
  EXPECT_DOUBLE_EQ(step.predicted_ms, 125e-6);
  EXPECT_DOUBLE_EQ(step.recorded_ms, 125e-6);
  EXPECT_DOUBLE_EQ(*step.unprofiled_ms, 120e-6);
}

TEST(Defects, CallsOfOneNameKeepTimesOfTheirOwn) {
  HandMade made;
  made.begin_program();
  const auto timed = [&](std::int64_t start_ns, std::int64_t host_ns, std::int64_t device_ns) {
    auto& op = made.op("aten::mm", {made.cuda()}, {made.cuda()}, {});
    op.timing = et_schema::Timing{.start_ns = start_ns,
                                  .host_ns = host_ns,
                                  .device_ns = device_ns,
                                  .launches = 1,
                                  .stream = 7};
  };
  timed(0, 10, 100);
  timed(15, 20, 7000);
  made.program().profile.emplace();
  made.program().profile->step_ns = 35;
  const Job job = made.job();
  const RecordedCosts costs(job);
  const auto& instructions = job.programs[0]->instructions;
  EXPECT_EQ(costs.of_operator(*job.programs[0], instructions[0]).device.ns, 100);
  EXPECT_EQ(costs.of_operator(*job.programs[0], instructions[0]).host.ns, 10);
  EXPECT_EQ(costs.of_operator(*job.programs[0], instructions[1]).device.ns, 7000);
  EXPECT_EQ(costs.of_operator(*job.programs[0], instructions[1]).host.ns, 20);
  EXPECT_EQ(costs.of_gap(*job.programs[0], instructions[1]).ns, 5);
}

}  // namespace
}  // namespace understudy::predictor
