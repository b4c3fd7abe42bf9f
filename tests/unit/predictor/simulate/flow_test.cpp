#include "predictor/simulate/flow.h"

#include <gtest/gtest.h>

#include "hand_made.h"
#include "predictor/simulate/recorded_step.h"

namespace understudy::predictor {
namespace {

using testing::HandMade;

TEST(HostWaits, NonBlockingCopiesDoNotWait) {
  HandMade made;
  made.begin_program();
  auto& copy = made.op("aten::copy_", {made.cpu(), made.cuda()}, {}, {});
  copy.args.push_back({true});
  made.program().schemas.back() = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking)";
  EXPECT_FALSE(waits_for_device(made.program(), copy));
  copy.args.back() = {false};
  EXPECT_TRUE(waits_for_device(made.program(), copy));
}

TEST(HostWaits, AnIndexThatIsAMaskOrOnTheHostWaits) {
  HandMade made;
  made.begin_program();
  const auto index = made.cuda();
  auto& op = made.op("aten::index.Tensor", {made.cuda()}, {made.cuda()}, {});
  op.args.push_back({et_schema::Argument::List{testing::ref(index)}});
  made.program().slots[index].dtype = et_schema::DType::kInt64;
  EXPECT_FALSE(waits_for_device(made.program(), op));
  made.program().slots[index].dtype = et_schema::DType::kBool;
  EXPECT_TRUE(waits_for_device(made.program(), op));
  made.program().slots[index].dtype = et_schema::DType::kInt64;
  made.program().storages[made.program().slots[index].storage].device =
      et_schema::parse_device("cpu");
  EXPECT_TRUE(waits_for_device(made.program(), op));
}

TEST(HostWaits, RepeatsInATensorAreAddedUpUnlessTheSumIsGiven) {
  HandMade made;
  made.begin_program();
  auto& op = made.op("aten::repeat_interleave.Tensor", {made.cuda()}, {made.cuda()}, {});
  made.program().schemas.back() =
      "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor";
  op.args.push_back({});
  EXPECT_TRUE(waits_for_device(made.program(), op));
  op.args.back() = {std::int64_t{64}};
  EXPECT_FALSE(waits_for_device(made.program(), op));
  op.name = "aten::repeat_interleave.self_int";
  op.args.pop_back();
  EXPECT_FALSE(waits_for_device(made.program(), op)) << "a number of the host's";
}

TEST(HostWaits, OnACpuNothingWaits) {
  HandMade made;
  made.begin_program();
  const auto& item = made.op("aten::item", {made.cpu()}, {}, {});
  EXPECT_FALSE(waits_for_device(made.program(), item));
  EXPECT_FALSE(touches_device(made.program(), item));
}

TEST(HostWaits, ResultsWhoseShapeDependsOnValuesWait) {
  HandMade made;
  made.begin_program();
  EXPECT_TRUE(waits_for_device(made.program(), made.op("torchvision::nms", {made.cuda()}, {}, {})));
  auto& op = made.op("aten::empty", {}, {made.cuda()}, {});
  op.pinned = true;
  EXPECT_FALSE(waits_for_device(made.program(), op)) << "a replay gives its values, not its shape";
}

TEST(Flows, StreamsAreTheRecordedOnes) {
  HandMade made;
  made.begin_program();
  const auto x = made.cuda();
  made.op("aten::a", {}, {x}, {}, 7);
  made.op("aten::b", {}, {made.cuda()}, {}, 24);
  made.op("aten::c", {x}, {made.cuda()}, {}, 24);
  made.comm(CommKind::kAllReduce, {x}, 0, 0, true);
  const Flow flow = flow_of(made.program());
  EXPECT_EQ(flow.streams,
            (std::vector<Stream>{{.recorded = 24}, {.recorded = 7}, {.communicates = true}}));
  EXPECT_EQ(flow.instructions[0].stream, 1);
  EXPECT_EQ(flow.instructions[2].stream, 0);
  EXPECT_EQ(flow.instructions[2].after_streams, (std::vector<StreamPoint>{{1, 0}}));
  // Behind what the current stream does, and behind who read and wrote its tensor.
  EXPECT_EQ(flow.instructions[3].after_streams, (std::vector<StreamPoint>{{0, 2}, {0, 2}, {1, 0}}));
  EXPECT_EQ(flow.open, (std::vector<StreamPoint>{{2, 3}}));
}

TEST(Flows, WithoutAProfileThereIsOneStreamAndOneThread) {
  HandMade made;
  made.begin_program();
  made.op("aten::a", {}, {made.cuda()}, {});
  made.program().instructions.back().thread = 5;
  made.op("aten::b", {}, {made.cuda()}, {});
  const Flow flow = flow_of(made.program());
  EXPECT_EQ(flow.streams.size(), 1);
  EXPECT_EQ(flow.timelines, (std::vector<std::uint64_t>{5}));
}

TEST(Flows, AThreadThatTakesTurnsWithItsCallerIsOneWithIt) {
  HandMade made;
  made.begin_program();
  for (int i = 0; i < 4; ++i) {
    auto& op = made.op("aten::a", {}, {made.cpu()}, {});
    op.thread = i % 2 == 0 ? 1 : 2;
    op.timing = et_schema::Timing{.start_ns = 10 * i, .host_ns = 10};
  }
  EXPECT_EQ(flow_of(made.program()).timelines.size(), 1);
}

/// A graph of 700 of which 600 are kernels that nothing shows, around two operators of 50: 100
/// behind the last of them, the others in their gaps.
TEST(RecordedSteps, WhatTheCallOfAWaitTakesIsAPartOfTheGap) {
  HandMade made;
  made.begin_program();
  made.op("aten::a", {}, {made.cuda()}, {}).timing = et_schema::Timing{.host_ns = 10};
  made.op("aten::b", {}, {made.cuda()}, {}).timing =
      et_schema::Timing{.start_ns = 50'000, .host_ns = 10};
  made.program().profile.emplace();
  made.program().profile->step_ns = 60'000;
  made.program().profile->device_waits = {{.start_ns = 20,
                                           .host_ns = 9'000,
                                           .waits_for = et_schema::DeviceWait::For::kEvent,
                                           .own_ns = 9'000}};
  RecordedStep step = recorded_step(made.program(), flow_of(made.program()));
  EXPECT_EQ(step.gaps[1].host_ns, 49'990);
  ASSERT_EQ(step.gaps[1].moments.size(), 1) << "a faster host would come to it earlier";
  EXPECT_EQ(step.end.host_ns, 9'990);
  made.program().profile->device_waits[0].host_ns = 29'000;
  step = recorded_step(made.program(), flow_of(made.program()));
  EXPECT_EQ(step.gaps[1].host_ns, 29'990);
  EXPECT_EQ(step.gaps[1].moments.front().wait, 0U);
}

}  // namespace
}  // namespace understudy::predictor
