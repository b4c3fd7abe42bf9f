#include <gtest/gtest.h>

#include "hand_made.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;
using testing::HandMade;
using testing::round_times;
using testing::single_step;

TEST(Schedule, AHostThreadIsItsOperatorsAndTheGapsBetween) {
  HandMade made;
  made.begin_program();
  const auto a = made.cpu();
  made.op("aten::mm", {a}, {made.cpu()}, {.gap_ns = 3, .host_ns = 10});
  made.op("aten::relu", {a}, {made.cpu()}, {.gap_ns = 2, .host_ns = 5});
  const Simulation simulation = simulate(made.job(), made, round_times());
  EXPECT_EQ(simulation.iteration_ns, 20);
  const Breakdown& parts = simulation.classes[0].breakdown;
  EXPECT_EQ(parts.compute_ns, 15);
  EXPECT_EQ(parts.host_bound_ns, 5);
  EXPECT_EQ(parts.exposed_communication_ns, 0);
  EXPECT_EQ(parts.idle_ns, 0);
}

TEST(Schedule, ADeviceThatIsSlowerThanItsHostDecides) {
  HandMade made;
  made.begin_program();
  const auto a = made.cuda();
  for (int i = 0; i < 3; ++i) {
    made.op("aten::mm", {a}, {made.cuda()}, {.host_ns = 10, .device_ns = 30});
  }
  const Simulation simulation = simulate(made.job(), made, round_times());
  EXPECT_EQ(simulation.iteration_ns, 90);
  EXPECT_EQ(simulation.classes[0].breakdown.compute_ns, 90);
}

TEST(Schedule, ADeviceWaitsForLaunches) {
  HandMade made;
  made.begin_program();
  const auto a = made.cuda();
  // The kernel is launched in the middle of the call: at 50, and takes until 60.
  made.op("aten::mm", {a}, {made.cuda()}, {.host_ns = 100, .device_ns = 10});
  const Simulation simulation = simulate(made.job(), made, single_step());
  EXPECT_EQ(simulation.iteration_ns, 100);
  const Breakdown& parts = simulation.classes[0].breakdown;
  EXPECT_EQ(parts.compute_ns, 10);
  EXPECT_EQ(parts.host_bound_ns, 90);
}

TEST(Schedule, TwoStreamsRunBesideEachOtherAndWaitForMemory) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda();
  const auto y = made.cuda();
  const auto z = made.cuda();
  made.op("aten::a", {}, {x}, {.host_ns = 2, .device_ns = 50}, 7);            // 1 to 51
  made.op("aten::b", {}, {y}, {.host_ns = 2, .device_ns = 80}, 8);            // 3 to 83
  made.op("aten::c", {x, y}, {z}, {.host_ns = 2, .device_ns = 10}, 7);        // 83 to 93
  made.op("aten::d", {x}, {made.cuda()}, {.host_ns = 2, .device_ns = 4}, 7);  // 93 to 97
  const Simulation simulation = simulate(made.job(), made, single_step());
  EXPECT_EQ(simulation.iteration_ns, 97);
  EXPECT_EQ(simulation.classes[0].breakdown.compute_ns, 96);
}

TEST(Schedule, KernelsBesideCommunicationStandStillForAShareOfIt) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda();
  const auto y = made.cuda();
  made.comm(CommKind::kAllReduce, {x}, 0, 40'000, true);             // 0 to 40
  made.op("aten::a", {}, {y}, {.device_ns = 10'000});                // 0 to 20
  made.op("aten::b", {y}, {made.cuda()}, {.device_ns = 50'000});     // 20 to 80
  made.op("aten::c", {x, y}, {made.cuda()}, {.device_ns = 10'000});  // 80 to 90
  SimulateOptions options = single_step();
  EXPECT_EQ(simulate(made.job({0, 0}), made, options).iteration_ns, 70'000);
  options.device.lost_beside = 0.5;
  EXPECT_NEAR(simulate(made.job({0, 0}), made, options).iteration_ns, 90'000, 20);
}

TEST(Schedule, SeveralKernelsEndNoSoonerThanTheLastIsLaunched) {
  HandMade made;
  made.begin_program();
  // Launched at 10, 30, 50, 70 and 90; the last one takes 4.
  made.op("aten::addcmul", {made.cuda()}, {made.cuda()},
          {.host_ns = 100, .device_ns = 20, .launches = 5});
  made.op("aten::item", {0}, {}, {.host_ns = 0});
  const Simulation simulation = simulate(made.job(), made, single_step());
  EXPECT_EQ(simulation.iteration_ns, 100);
  EXPECT_NEAR(simulation.classes[0].breakdown.compute_ns, 20, 1e-9);
  std::int64_t last_ns = 0;
  for (const Span& span : simulation.classes[0].spans) {
    if (span.kind == SpanKind::kDevice && span.instruction == 0) {
      EXPECT_EQ(span.end_ns - span.start_ns, 4);
      last_ns = span.end_ns;
    }
  }
  EXPECT_EQ(last_ns, 94);
}

TEST(Schedule, AHostIsNoFurtherAheadThanTheLaunchQueue) {
  HandMade made;
  made.begin_program();
  const auto a = made.cuda();
  for (int i = 0; i < 4; ++i) {
    made.op("aten::mm", {a}, {made.cuda()}, {.host_ns = 1, .device_ns = 100});
  }
  SimulateOptions options = single_step();
  options.device.launch_queue = 2;
  const Simulation simulation = simulate(made.job(), made, options);
  // The third call begins when the first kernel is done, the fourth when the second is.
  EXPECT_EQ(simulation.classes[0].first_step_ns, 201);
}

TEST(Schedule, RecordedWaitsForTheDeviceArePlayedWhereTheyWere) {
  HandMade made;
  made.begin_program();
  // By the profile the second operator began 20 after the first, and the host waited from 5 on.
  auto& first =
      made.op("aten::mm", {made.cuda()}, {made.cuda()}, {.host_ns = 10, .device_ns = 100}, 7);
  first.timing->host_ns = 10;
  auto& second = made.op("aten::mm", {made.cuda()}, {made.cuda()}, {.gap_ns = 8, .host_ns = 10}, 7);
  second.timing->start_ns = 30;
  second.timing->host_ns = 10;
  made.program().profile.emplace();
  made.program().profile->step_ns = 40;
  made.program().profile->device_waits = {{.start_ns = 15, .host_ns = 12}};
  // The kernel is launched at 5 and done at 105; of the gap 5 of 8 lie before the wait.
  const Simulation simulation = simulate(made.job(), made, single_step());
  EXPECT_EQ(simulation.classes[0].first_step_ns, 105 + 3 + 10);
}

/// Three operators of 100 us on the device that take the host 10 us each, the third behind a wait.
double third_begins_us(et_schema::DeviceWait::For what, std::uint32_t work) {
  constexpr std::int64_t kUs = 1000;
  HandMade made;
  made.begin_program();
  for (int i = 0; i < 3; ++i) {
    auto& op = made.op("aten::mm", {made.cuda()}, {made.cuda()},
                       {.host_ns = 10 * kUs, .device_ns = 100 * kUs}, 7);
    op.timing->start_ns = i < 2 ? 10 * kUs * i : 300 * kUs;
    op.timing->host_ns = 10 * kUs;
    op.timing->device_ns = 100 * kUs;
    op.timing->launches = 1;
  }
  made.program().device_work = {{.instruction = 0, .stream = 7}, {.instruction = 1, .stream = 7}};
  made.program().profile.emplace();
  made.program().profile->step_ns = 310 * kUs;
  made.program().profile->device_waits = {
      {.start_ns = 20 * kUs, .host_ns = 280 * kUs, .waits_for = what, .work = work}};
  const Simulation simulation = simulate(made.job(), made, single_step());
  for (const Span& span : simulation.classes[0].spans) {
    if (span.kind == SpanKind::kHost && span.instruction == 2) {
      return static_cast<double>(span.start_ns) / kUs;
    }
  }
  return 0;
}

/// FSDP's rate limiter waits for what was issued some time ago, so that the device never runs dry.
TEST(Schedule, AWaitForAnEventIsForItsWorkNotForAllThatWasIssued) {
  using enum et_schema::DeviceWait::For;
  EXPECT_NEAR(third_begins_us(kEvent, 0), 105, 1);
  EXPECT_NEAR(third_begins_us(kEvent, 1), 205, 1);
  EXPECT_NEAR(third_begins_us(kStream, 1), 205, 1);
  EXPECT_NEAR(third_begins_us(kDevice, 0), 205, 1);
}

TEST(Schedule, OperatorsOfOverlappingThreadsRunBesideEachOther) {
  HandMade made;
  made.begin_program();
  const auto x = made.cpu();
  const auto timed = [&](et_schema::Instruction& instruction, std::uint64_t thread,
                         std::int64_t start_ns, std::int64_t host_ns) {
    instruction.thread = thread;
    instruction.timing = et_schema::Timing{.start_ns = start_ns, .host_ns = host_ns};
  };
  timed(made.op("aten::load", {}, {x}, {.host_ns = 60}), 2, 0, 60);
  timed(made.op("aten::mm", {made.cpu()}, {made.cpu()}, {.host_ns = 100}), 1, 0, 100);
  timed(made.op("aten::add", {x}, {made.cpu()}, {.host_ns = 10}), 1, 100, 10);
  const Simulation simulation = simulate(made.job(), made, single_step());
  EXPECT_EQ(simulation.flows[0].timelines, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(simulation.iteration_ns, 110);
}

TEST(Schedule, AThreadsLateLaunchHoldsUpNoOthersOnTheStream) {
  HandMade made;
  made.begin_program();
  const auto timed = [&](et_schema::Instruction& instruction, std::uint64_t thread,
                         std::int64_t start_ns, std::int64_t host_ns) {
    instruction.thread = thread;
    instruction.timing = et_schema::Timing{.start_ns = start_ns, .host_ns = host_ns, .stream = 7};
  };
  timed(made.op("aten::slow", {made.cuda()}, {made.cuda()},
                {.gap_ns = 500, .host_ns = 1000, .device_ns = 10}),
        1, 500, 1000);
  timed(made.op("aten::quick", {made.cuda()}, {made.cuda()},
                {.gap_ns = 600, .host_ns = 100, .device_ns = 10}),
        2, 600, 100);
  const Simulation simulation = simulate(made.job(), made, single_step());
  ASSERT_EQ(simulation.flows[0].timelines.size(), 2);
  for (const Span& span : simulation.classes[0].spans) {
    if (span.kind == SpanKind::kDevice) {
      EXPECT_EQ(span.start_ns, span.instruction == 0 ? 1000 : 650);
    }
  }
}

TEST(Schedule, TheCriticalPathIsAsLongAsTheIterationAndNamesItsOperators) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda();
  made.op("aten::slow", {}, {x}, {.host_ns = 4, .device_ns = 90});
  made.op("aten::item", {x}, {}, {.host_ns = 6});
  made.op("aten::last", {made.cuda()}, {}, {.gap_ns = 5, .host_ns = 10});
  const Job job = made.job();
  const Simulation simulation = simulate(job, made, round_times());
  std::int64_t sum_ns = 0;
  std::vector<std::string> names;
  for (const PathPiece& piece : simulation.critical_path) {
    sum_ns += piece.ns;
    const Span& span = simulation.classes[0].spans[piece.span.index];
    names.push_back(job.programs[0]->instructions[span.instruction].name +
                    (piece.part == PathPiece::Part::kGap ? " gap" : ""));
  }
  EXPECT_EQ(sum_ns, simulation.end_ns - simulation.begin_ns);
  EXPECT_EQ(sum_ns, 2 + 90 + 3 + 5 + 10);
  EXPECT_EQ(names, (std::vector<std::string>{"aten::last", "aten::last gap", "aten::item",
                                             "aten::slow", "aten::slow"}));
}

}  // namespace
}  // namespace understudy::predictor
