#include <gtest/gtest.h>

#include "../simulate/hand_made.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;
using et_schema::Timing;
using testing::HandMade;
using testing::round_times;

TEST(Recorded, WhatTheProfileDoesNotShowHasNoModel) {
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {});
  made.program().profile.emplace();
  const Job job = made.job();
  const OperatorCost cost =
      RecordedCosts(job).of_operator(*job.programs[0], job.programs[0]->instructions[0]);
  EXPECT_FALSE(cost.host.modelled);
  EXPECT_EQ(cost.host.model, "not in the profile");
}

TEST(Recorded, APlayedStepIsAsLongAsTheRecordedOne) {
  HandMade made;
  made.begin_program();
  made.op("aten::a", {}, {made.cpu()}, {}).timing = Timing{.start_ns = 5, .host_ns = 20};
  auto& other = made.op("aten::b", {}, {made.cpu()}, {});
  other.timing = Timing{.start_ns = 40, .host_ns = 30};
  other.thread = 9;  // autograd's, whose caller waits
  made.program().profile.emplace();
  made.program().profile->step_ns = 100;
  const Job job = made.job();
  const Simulation simulation = simulate(job, RecordedCosts(job), round_times());
  EXPECT_EQ(simulation.iteration_ns, 100);
  EXPECT_EQ(simulation.classes[0].breakdown.compute_ns, 50);
}

/// A kernel, a copy to the host that waited for it, and a step's end.
void add_waiting_rank(HandMade& made, std::int64_t kernel_ns, std::int64_t copy_host_ns) {
  made.begin_program();
  const auto x = made.cuda();
  made.op("aten::mm", {}, {x}, {}).timing =
      Timing{.host_ns = 20'000, .device_ns = kernel_ns, .launches = 1, .stream = 7};
  made.op("aten::_to_copy", {x}, {made.cpu()}, {}).timing = Timing{
      .start_ns = 20'000, .host_ns = copy_host_ns, .device_ns = 1'000, .launches = 1, .stream = 7};
  auto& profile = made.program().profile.emplace();
  profile.step_ns = 20'000 + copy_host_ns;
}

TEST(Recorded, AnOperatorThatWaitsForItsDeviceTakesTwoCallsOfTheRuntime) {
  HandMade made;
  add_waiting_rank(made, 500'000, 540'000);
  const Job job = made.job();
  EXPECT_EQ(
      RecordedCosts(job).of_operator(*job.programs[0], job.programs[0]->instructions[1]).host.ns,
      10'000);
}

TEST(Recorded, AGraphThatShowsNoKernelsTakesWhatFollowsItsOperators) {
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {}).timing = Timing{.start_ns = 0, .host_ns = 100};
  auto& graph = made.op("## Call CompiledFxGraph x ##", {}, {made.cpu()}, {});
  graph.kind = et_schema::InstructionKind::kNative;
  graph.timing = Timing{.start_ns = 700, .host_ns = 600};
  const et_schema::Instruction native = graph;
  made.program().instructions.pop_back();
  made.op("extern::a", {}, {made.cpu()}, {}).timing = Timing{.start_ns = 350, .host_ns = 50};
  made.op("extern::b", {}, {made.cpu()}, {}).timing = Timing{.start_ns = 650, .host_ns = 50};
  made.program().instructions.push_back(native);
  made.op("aten::sum", {}, {made.cpu()}, {}).timing = Timing{.start_ns = 800, .host_ns = 200};
  made.program().profile.emplace();
  made.program().profile->step_ns = 1000;
  const Job job = made.job();
  const RecordedCosts costs(job);
  EXPECT_EQ(costs.of_operator(*job.programs[0], job.programs[0]->instructions[3]).host.ns, 100);
  EXPECT_EQ(simulate(job, costs, round_times()).iteration_ns, 1000) << "each moment once";
}

TEST(Recorded, ACollectiveTakesWhatItsLastRankTook) {
  HandMade made;
  for (const std::int64_t device_ns : {900, 250, 400}) {
    made.begin_program();
    made.comm(CommKind::kAllReduce, {made.cuda()}, 0, 0, true).timing =
        Timing{.host_ns = 10, .device_ns = device_ns, .launches = 1, .stream = 84};
    made.program().device_work = {{.instruction = 0, .device_ns = device_ns, .stream = 84}};
    made.program().profile.emplace();
  }
  const Job job = made.job();
  GroupComm call;
  for (const auto* program : job.programs) {
    call.sides.push_back(&program->instructions[0]);
  }
  EXPECT_EQ(RecordedCosts(job).of_communication(call).ns, 250);
  // Those that waited began sooner: by as much as they waited longer.
  EXPECT_EQ(recorded_start_times(job), (std::vector<std::int64_t>{0, 650, 500}));
}

TEST(Recorded, ACallInAGroupOfOneThatLaunchedNothingTakesNoTime) {
  HandMade made;
  made.begin_program();
  made.comm(CommKind::kAllReduce, {made.cuda(1 << 20)}, 0, 0, true).timing = Timing{.host_ns = 10};
  made.program().profile.emplace();
  const Job job = made.job();
  GroupComm call{{.bytes = 1 << 20, .ranks = 1}};
  call.sides = {&job.programs[0]->instructions[0]};
  EXPECT_EQ(RecordedCosts(job).of_communication(call).ns, 0);
  call.ranks = 2;  // what more ranks would take was not seen
  EXPECT_GT(RecordedCosts(job).of_communication(call).ns, 0);
}

TEST(Recorded, OnACpuTheLastRankShowsWhatACommunicationTakes) {
  HandMade made;
  for (const std::int64_t wait_ns : {700, 300}) {
    made.begin_program();
    const auto x = made.cpu(4000);
    made.comm(CommKind::kAllReduce, {x}, 0, 0, true).timing =
        Timing{.start_ns = 100, .host_ns = 50};
    // What touches the tensor waits for it: the gap before it is no time of the host's.
    made.op("aten::mul_", {x}, {}, {}).timing = Timing{.start_ns = 150 + wait_ns, .host_ns = 20};
    made.program().profile.emplace().step_ns = 170 + wait_ns;
  }
  const Job job = made.job();
  const RecordedCosts costs(job);
  EXPECT_EQ(costs.of_gap(*job.programs[0], job.programs[0]->instructions[1]).ns, 0);
  GroupComm call;
  call.sides = {&job.programs[0]->instructions[0], &job.programs[1]->instructions[0]};
  EXPECT_EQ(costs.of_communication(call).ns, 300);
}

TEST(Recorded, ASynchronousCallsRecordedWaitIsTimeOfItsCommunication) {
  HandMade made;
  for (const std::int64_t wait_ns : {700, 300}) {
    made.begin_program();
    const auto x = made.cpu(4000);
    auto& call = made.comm(CommKind::kAllToAll, {x}, 0, 0, false);
    call.timing = Timing{.start_ns = 1000 - wait_ns, .host_ns = 50};
    call.comm->seq = 7;
    auto& wait = made.wait(x);
    wait.args.clear();
    wait.comm->seq = 7;
    wait.timing = Timing{.start_ns = 1050 - wait_ns, .host_ns = wait_ns};
    made.program().profile.emplace().step_ns = 1050;
  }
  const Job job = made.job();
  const RecordedCosts costs(job);
  EXPECT_EQ(costs.of_operator(*job.programs[0], job.programs[0]->instructions[1]).host.ns, 0);
  GroupComm call;
  call.sides = {&job.programs[0]->instructions[0], &job.programs[1]->instructions[0]};
  EXPECT_EQ(costs.of_communication(call).ns, 350);
  const Simulation simulation = simulate(job, costs, round_times());
  EXPECT_EQ(simulation.iteration_ns, 1050);
  EXPECT_EQ(simulation.classes[0].breakdown.compute_ns, 0);
}

TEST(Recorded, TheWaitOfAnotherCallIsNotASynchronousCalls) {
  HandMade made;
  made.begin_program();
  auto& call = made.comm(CommKind::kAllReduce, {made.cpu(4000)}, 0, 0, false);
  call.timing = Timing{.host_ns = 50};
  call.comm->seq = 7;
  auto& wait = made.wait(made.cpu());
  wait.comm->seq = 6;
  wait.timing = Timing{.start_ns = 50, .host_ns = 300};
  made.program().profile.emplace().step_ns = 350;
  const Job job = made.job();
  const RecordedCosts costs(job);
  EXPECT_EQ(costs.of_operator(*job.programs[0], job.programs[0]->instructions[1]).host.ns, 300);
  GroupComm alone;
  alone.sides = {&job.programs[0]->instructions[0]};
  EXPECT_EQ(costs.of_communication(alone).ns, 50);
}

TEST(Recorded, ACommunicationThatNobodyWaitedForIsGuessedFromOthersAndSaysSo) {
  HandMade made;
  made.begin_program();
  const auto x = made.cpu(4000);
  const auto y = made.cpu(8000);
  made.comm(CommKind::kAllReduce, {y}, 0, 0, true).timing = Timing{.host_ns = 50};
  made.comm(CommKind::kAllReduce, {x}, 0, 0, true).timing = Timing{.start_ns = 100, .host_ns = 50};
  made.op("aten::mul_", {x}, {}, {}).timing = Timing{.start_ns = 450, .host_ns = 20};
  made.program().profile.emplace();
  const Job job = made.job();
  GroupComm call{{.bytes = 8000}};
  call.sides = {&job.programs[0]->instructions[0]};
  const Estimate estimate = RecordedCosts(job).of_communication(call);
  EXPECT_DOUBLE_EQ(estimate.ns, 600);
  EXPECT_EQ(estimate.low_ns, 0);
  EXPECT_DOUBLE_EQ(estimate.high_ns, 1200);
  EXPECT_EQ(estimate.model, "recorded rate");
}

/// What 60 ns of an all-reduce between two ranks take between others.
double scaled_ns(std::int64_t bytes, int ranks) {
  const Estimate answer =
      scaled_to_ranks(known(60, "recorded"), {{.bytes = bytes, .ranks = ranks}, 2});
  EXPECT_EQ(answer.extrapolated, ranks != 2);
  EXPECT_LE(answer.low_ns, answer.ns);
  EXPECT_GE(answer.high_ns, answer.ns);
  return answer.ns;
}

TEST(WorldSizes, ScaleLargeCommunicationByItsBytesSmallByItsSteps) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    EXPECT_NEAR(scaled_ns(std::int64_t{1} << 40U, ranks), 60 * 2.0 * (ranks - 1) / ranks, 1);
  }
  EXPECT_NEAR(scaled_ns(4, 4), 60.0 * (6600 + 6 * 2700) / (6600 + 2 * 2700), 1);
  EXPECT_NEAR(scaled_ns(4, 1024), 60.0 * (6600 + 37 * 2700) / (6600 + 2 * 2700), 1) << "a tree";
}

TEST(WorldSizes, OneRankShowsNoCommunication) {
  EXPECT_EQ(
      testing_errors::error_of(et_schema::ErrorKind::kUsage,
                               [] {
                                 return scaled_to_ranks(known(60, "recorded"), {{.ranks = 4}, 1});
                               }),
      "a job of one rank does not show what its communication takes\n"
      "  field:    --world-size\n"
      "  expected: a benchmark of two ranks or more\n"
      "  got:      allreduce of 1 rank\n"
      "  hint:     take --platform, whose models know collectives");
}

}  // namespace
}  // namespace understudy::predictor
