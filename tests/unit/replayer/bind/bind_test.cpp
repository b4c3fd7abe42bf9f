#include "replayer/bind/bind.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "fixture.h"

namespace understudy::replayer::testing {
namespace {

class BindTest : public ReplayerTest {
 protected:
  BoundProgram bind() {
    decisions_ = std::make_unique<Decisions>(
        builder_.program(), Decisions::Options{c10::Device(c10::kCPU), Only::kAll});
    return bind_program(*decisions_, groups_);
  }
  static StackEntry::From from(const BoundProgram& bound, std::size_t step, std::size_t entry) {
    return bound.entries[bound.steps[step].entries.begin + entry].from;
  }
  static std::vector<SlotId> dropped(const BoundProgram& bound, std::size_t step) {
    const IndexRange range = bound.steps[step].dropped;
    return {bound.dropped.begin() + range.begin, bound.dropped.begin() + range.end};
  }
};

TEST_F(BindTest, SlotsAreGivenAwayAtTheirLastUse) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId a = builder_.intermediate(DType::kFloat32, {4});
  const SlotId b = builder_.intermediate(DType::kFloat32, {4});
  const SlotId c = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kRelu, {ref(x)}, {ref(a)});
  builder_.add_op(kAdd, {ref(a), ref(x), number(1)}, {ref(b)});
  builder_.add_op(kAdd, {ref(a), ref(b), number(1)}, {ref(c)});
  const BoundProgram bound = bind();
  ASSERT_EQ(bound.steps.size(), 3U);
  EXPECT_EQ(from(bound, 0, 0), StackEntry::From::kSlot);  // externals stay
  EXPECT_EQ(from(bound, 1, 0), StackEntry::From::kSlot);  // read again
  EXPECT_EQ(from(bound, 2, 0), StackEntry::From::kLastUse);
  EXPECT_EQ(from(bound, 2, 1), StackEntry::From::kLastUse);
  EXPECT_EQ(bound.steps[2].stored.begin, bound.steps[2].stored.end);  // nobody reads c
  EXPECT_EQ(bound.externals, std::vector<SlotId>{x});
}

TEST_F(BindTest, ASlotThatStandsTwiceOnTheStackIsDroppedAfterTheStep) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId a = builder_.intermediate(DType::kFloat32, {4});
  const SlotId b = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kRelu, {ref(x)}, {ref(a)});
  builder_.add_op(kAdd, {ref(a), ref(a), number(1)}, {ref(b)});
  const BoundProgram bound = bind();
  EXPECT_EQ(from(bound, 1, 0), StackEntry::From::kSlot);
  EXPECT_EQ(from(bound, 1, 1), StackEntry::From::kSlot);
  EXPECT_EQ(dropped(bound, 1), std::vector<SlotId>{a});
}

TEST_F(BindTest, LivePeakFollowsLifetimesOfStorages) {
  const SlotId x = builder_.external(DType::kFloat32, {256}, constant(1));
  const SlotId a = builder_.intermediate(DType::kFloat32, {256});
  const SlotId half = builder_.view(a, {128}, {1}, 0);
  const SlotId b = builder_.intermediate(DType::kFloat32, {128});
  const SlotId c = builder_.intermediate(DType::kFloat32, {128});
  builder_.add_op(kRelu, {ref(x)}, {ref(a)});
  builder_.add_op(
      "aten::slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) "
      "-> Tensor(a)",
      {ref(a), number(0), number(0), number(128), number(1)}, {ref(half)});
  builder_.add_op(kRelu, {ref(half)}, {ref(b)});  // a's 1,024 bytes live on through its half
  builder_.add_op(kRelu, {ref(b)}, {ref(c)});
  EXPECT_EQ(bind().live_peak_bytes, 1024U + 512U);
}

TEST_F(BindTest, InPlaceResultsKeepTheirSlotAndAreKnownAsWritten) {
  const SlotId w = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId g = builder_.external(DType::kFloat32, {4}, constant(2));
  builder_.add_op(kAddInPlace, {ref(w), ref(g), number(1)}, {ref(w)});
  const BoundProgram bound = bind();
  EXPECT_EQ(bound.steps[0].stored.begin, bound.steps[0].stored.end);
  EXPECT_EQ(bound.written, std::vector<SlotId>{w});
  EXPECT_TRUE(bound.dropped.empty());
}

TEST_F(BindTest, WhatNothingMakesIsAViewOfItsStorageOrGiven) {
  const SlotId x = builder_.external(DType::kFloat32, {8}, constant(1));
  const SlotId half = builder_.view(x, {4}, {1}, 4);
  const SlotId lost = builder_.intermediate(DType::kFloat32, {4});
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kAdd, {ref(half), ref(lost), number(1)}, {ref(y)});
  const BoundProgram bound = bind();
  ASSERT_EQ(bound.steps.size(), 3U);
  EXPECT_EQ(bound.steps[0].kind, StepKind::kAlias);
  EXPECT_EQ(bound.steps[1].kind, StepKind::kGive);
  EXPECT_EQ(bound.given, std::vector<SlotId>{lost});
}

TEST_F(BindTest, ACommunicationIsJoinedBeforeItsTensorsAreTouched) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId other = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId a = builder_.intermediate(DType::kFloat32, {4});
  const SlotId b = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x)}, {ref(x)});
  builder_.add_op(kRelu, {ref(other)}, {ref(a)});
  builder_.add_op(kRelu, {ref(x)}, {ref(b)});
  const BoundProgram bound = bind();
  ASSERT_EQ(bound.steps.size(), 4U);
  EXPECT_EQ(bound.steps[0].kind, StepKind::kStart);
  EXPECT_EQ(bound.steps[1].kind, StepKind::kCall);
  EXPECT_EQ(bound.steps[2].kind, StepKind::kJoin);
  EXPECT_EQ(bound.steps[3].kind, StepKind::kCall);
}

TEST_F(BindTest, AWaitJoinsItsCommunicationAndTheEndJoinsTheRest) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {4}, constant(1));
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x)}, {ref(x)}).comm->seq = 7;
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(y)}, {ref(y)}).comm->seq = 8;
  Instruction wait;
  wait.kind = InstructionKind::kWait;
  wait.name = "wait";
  wait.comm.emplace();
  wait.comm->kind = et_schema::CommKind::kWait;
  wait.comm->seq = 7;
  builder_.add(wait);
  const BoundProgram bound = bind();
  ASSERT_EQ(bound.steps.size(), 4U);
  EXPECT_EQ(bound.steps[2].kind, StepKind::kJoin);
  EXPECT_EQ(bound.steps[2].index, 0U);
  EXPECT_EQ(bound.steps[3].kind, StepKind::kJoin);
  EXPECT_EQ(bound.steps[3].index, 1U);
}

TEST_F(BindTest, WhatAReceiveMakesLiesWhereTheRecordedTensorDid) {
  const SlotId there = builder_.intermediate(DType::kFloat32, {4});
  const SlotId here = builder_.intermediate(DType::kFloat32, {4});
  builder_.program().storages[builder_.slot(here).storage].device = {et_schema::DeviceType::kCpu,
                                                                     -1};
  builder_.add_collective(et_schema::CommKind::kRecv, {}, {ref(there)});
  builder_.add_collective(et_schema::CommKind::kRecv, {}, {ref(here)});
  const c10::Device meta(c10::kMeta);
  Decisions decisions(builder_.program(), {meta, Only::kAll});
  const BoundProgram bound = bind_program(decisions, groups_);
  ASSERT_EQ(bound.comms[0].fresh.size(), 1U);
  EXPECT_EQ(bound.comms[0].fresh[0].slot, there);
  EXPECT_EQ(bound.comms[0].fresh[0].device, meta);
  ASSERT_EQ(bound.comms[1].fresh.size(), 1U);
  EXPECT_TRUE(bound.comms[1].fresh[0].device.is_cpu());
}

TEST_F(BindTest, ASendThatIsKeptApartIsJoinedAtTheEnd) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_collective(et_schema::CommKind::kSend, {ref(x)}, {ref(x)}).comm->is_async = false;
  builder_.add_op(kRelu, {ref(x)}, {ref(y)});
  decisions_ = std::make_unique<Decisions>(builder_.program(),
                                           Decisions::Options{c10::Device(c10::kCPU), Only::kAll});
  const BoundProgram bound = bind_program(*decisions_, groups_, {{0}, {true}});
  ASSERT_EQ(bound.steps.size(), 3U);
  EXPECT_EQ(bound.steps[0].kind, StepKind::kStart);
  EXPECT_EQ(bound.steps[1].kind, StepKind::kCall);
  EXPECT_EQ(bound.steps[2].kind, StepKind::kJoin);
  EXPECT_TRUE(bound.comms[0].kept_apart);
  EXPECT_FALSE(bound.comms[0].blocking);
}

TEST_F(BindTest, SplitsAreGivenInElements) {
  const SlotId x = builder_.external(DType::kFloat32, {6, 10}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {6, 10}, constant(1));
  Instruction& all_to_all =
      builder_.add_collective(et_schema::CommKind::kAllToAllV, {ref(x)}, {ref(y)});
  all_to_all.comm->in_splits = {4, 2};
  groups_[0].size = 2;
  const BoundProgram bound = bind();
  EXPECT_EQ(bound.comms[0].call.in_splits, (std::vector<std::int64_t>{40, 20}));
  EXPECT_EQ(bound.comms[0].call.out_splits, (std::vector<std::int64_t>{30, 30}));
}

TEST_F(BindTest, SplitsThatDoNotAddUpAreRefused) {
  const SlotId x = builder_.external(DType::kFloat32, {6, 10}, constant(1));
  Instruction& all_to_all =
      builder_.add_collective(et_schema::CommKind::kAllToAllV, {ref(x)}, {ref(x)});
  all_to_all.comm->in_splits = {4, 3};
  EXPECT_EQ(failure(),
            "splits do not add up to the tensor they split\n"
            "  node:     101\n"
            "  field:    in_splits\n"
            "  expected: 6 rows or 60 elements\n"
            "  got:      [4, 3], together 7");
}

TEST_F(BindTest, LostEpsilonsBecomeTheUsualOnesAndAreCounted) {
  const SlotId x = builder_.external(DType::kFloat32, {2, 4}, constant(1));
  const SlotId y = builder_.intermediate(DType::kFloat32, {2, 4});
  builder_.add_op(
      "aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
      "bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
      {ref(x), numbers({4}), none(), none(), real(0.0), flag(false)}, {ref(y)});
  const BoundProgram bound = bind();
  EXPECT_EQ(bound.losses[et_schema::Loss::kLostDoubles], 1U);
  EXPECT_DOUBLE_EQ(bound.constants[3].toDouble(), 1e-5);
}

/// Two operators of 300 and 100 ns, and 100 ns in no instruction.
class CoverageTimeTest : public BindTest {
 protected:
  void SetUp() override {
    const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
    for (const auto& [schema, ns] :
         {std::pair(kRelu, 300), {"acme::unknown(Tensor self) -> Tensor", 100}}) {
      et_schema::Timing timing;
      timing.host_ns = timing.device_ns = ns;
      if (ns == 300) {
        timing.kernel_classes = {{"copy", 1}, {"matmul", 5}};
      }
      builder_.add_op(schema, {ref(x)}, {ref(builder_.intermediate(DType::kFloat32, {4}))}).timing =
          timing;
    }
    et_schema::RecordedProfile& profile = builder_.program().profile.emplace();
    profile.outside = {{et_schema::Outside::kOpened, "", 600, 0},
                       {et_schema::Outside::kLabel, "AcmeFunction", 0, 60},
                       {et_schema::Outside::kLabel, "OtherFunction", 0, 15},
                       {et_schema::Outside::kUnlinked, "", 0, 25}};
  }
  et_schema::Coverage coverage(Only only = Only::kAll) {
    return Decisions(builder_.program(), Decisions::Options{c10::Device(c10::kCPU), only})
        .coverage();
  }
  static double all(const et_schema::Coverage& coverage) {
    double sum = *coverage.time + *coverage.dropped_time;
    for (const et_schema::TimeShare& row : coverage.other_time) {
      sum += row.share;
    }
    return sum;
  }
};

TEST_F(CoverageTimeTest, NamesAllOfTheStepsTimeOnItsDevice) {
  const et_schema::Coverage found = coverage();
  EXPECT_EQ(found.time, 0.6);
  EXPECT_EQ(found.dropped_time, 0.2);
  EXPECT_EQ(found.other_time, (std::vector<et_schema::TimeShare>{{"label without operator", 0.15},
                                                                 {"unlinked", 0.05}}));
  EXPECT_DOUBLE_EQ(all(found), 1);
}

TEST_F(CoverageTimeTest, TellsWhatBecameOfTheKernelsOfEachClass) {
  std::vector<std::string> rows;
  double share = 0;
  for (const et_schema::DeviceTime& row : coverage().device_time) {
    rows.push_back(fmt::format("{} {} {:.6f}", row.kernel_class, row.fate, row.ms));
    share += row.share;
  }
  EXPECT_EQ(rows,
            (std::vector<std::string>{"matmul replayed 0.000250", "not told dropped 0.000100",
                                      "not told label without operator 0.000075",
                                      "copy replayed 0.000050", "not told unlinked 0.000025"}));
  EXPECT_DOUBLE_EQ(share, 1);
}

TEST_F(CoverageTimeTest, WhatAFilterLeavesOutIsNamedSo) {
  const et_schema::Coverage found = coverage(Only::kComms);
  EXPECT_EQ(found.time, 0);
  EXPECT_EQ(found.other_time.at(1), (et_schema::TimeShare{"left out by a filter", 0.8}));
  EXPECT_DOUBLE_EQ(all(found), 1);
}

TEST_F(CoverageTimeTest, OnAHostTheWholeIsTheStep) {
  for (et_schema::Instruction& instruction : builder_.program().instructions) {
    instruction.timing->device_ns = 0;
  }
  builder_.program().profile->outside.resize(1);
  builder_.program().profile->step_ns = 2000;
  const et_schema::Coverage found = coverage();
  EXPECT_EQ(found.time, 0.15);
  EXPECT_EQ(found.dropped_time, 0.05);
  EXPECT_EQ(found.other_time, (std::vector<et_schema::TimeShare>{{"between operators", 0.5},
                                                                 {"opened operators", 0.3}}));
  EXPECT_DOUBLE_EQ(all(found), 1);
}

}  // namespace
}  // namespace understudy::replayer::testing
