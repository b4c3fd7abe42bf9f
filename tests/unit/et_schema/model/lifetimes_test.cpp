// When slots die, what lives while each instruction runs, and what a person is told of the peak.

#include "et_schema/model/lifetimes.h"

#include <gtest/gtest.h>

#include "et_schema/model/memory_plan.h"
#include "program_builder.h"

namespace understudy::et_schema {
namespace {

using replayer::testing::constant;
using replayer::testing::kMul;
using replayer::testing::kRelu;
using replayer::testing::ProgramBuilder;
using replayer::testing::ref;
using Bytes = std::vector<std::uint64_t>;

constexpr std::int64_t kElements = 25;
constexpr std::uint64_t kTensor = 100;  // bytes of each tensor

/// x (external) → a → b → c, where b's maker reads x too.
class LifetimesTest : public ::testing::Test {
 protected:
  LifetimesTest() {
    builder_.add_op(kRelu, {ref(x_)}, {ref(a_)});
    builder_.add_op(kMul, {ref(a_), ref(x_)}, {ref(b_)});
    builder_.add_op(kRelu, {ref(b_)}, {ref(c_)});
  }
  void hold(SlotId slot, std::uint32_t until) {
    program().storages[program().slots[slot].storage].held_until = until;
  }
  Program& program() { return builder_.program(); }
  [[nodiscard]] Bytes live() { return plan_memory(program()).live_bytes; }

  ProgramBuilder builder_;
  SlotId x_ = builder_.external(DType::kFloat32, {kElements}, constant(1));
  SlotId a_ = builder_.intermediate(DType::kFloat32, {kElements});
  SlotId b_ = builder_.intermediate(DType::kFloat32, {kElements});
  SlotId c_ = builder_.intermediate(DType::kFloat32, {kElements});
};

TEST_F(LifetimesTest, TheLastReaderFrees) {
  const Lifetimes lifetimes = lifetimes_of(program(), uses_of(program()));
  ASSERT_EQ(lifetimes.deaths.size(), 3U);
  EXPECT_EQ(lifetimes.deaths[0].last_reads, std::vector<SlotId>{});
  EXPECT_EQ(lifetimes.deaths[1].last_reads, std::vector<SlotId>{a_});
  EXPECT_EQ(lifetimes.deaths[2].last_reads, std::vector<SlotId>{b_});
  EXPECT_EQ(lifetimes.deaths[2].unread, std::vector<SlotId>{c_});
  EXPECT_EQ(live(), (Bytes{2 * kTensor, 3 * kTensor, 3 * kTensor}));
}

TEST_F(LifetimesTest, WhatNobodyTouchesLivesThroughout) {
  program().storages.push_back({.device = {}, .bytes = 7, .external = true, .untouched = true});
  const MemoryPlan plan = plan_memory(program());
  EXPECT_EQ(plan.live_bytes, (Bytes{2 * kTensor + 7, 3 * kTensor + 7, 3 * kTensor + 7}));
  EXPECT_EQ(plan.external_bytes, kTensor + 7);
  EXPECT_EQ(plan.untouched_bytes, 7U);
  EXPECT_EQ(plan.largest.size(), 3U);
}

TEST_F(LifetimesTest, AViewKeepsItsStorage) {
  const SlotId view = builder_.view(a_, {5}, {1}, 0);
  builder_.add_alias(a_, view);
  builder_.add_op(kRelu, {ref(view)}, {ref(view)});
  EXPECT_EQ(live(), (Bytes{200, 300, 400, 200, 200}));
}

TEST_F(LifetimesTest, InPlaceMakesNothing) {
  builder_.add_op(replayer::testing::kAddInPlace, {ref(c_), ref(x_), replayer::testing::number(1)},
                  {ref(c_)});
  EXPECT_EQ(live(), (Bytes{200, 300, 300, 200}));
}

TEST_F(LifetimesTest, WhatNothingMadeIsThereForItsReader) {
  const SlotId orphan = builder_.intermediate(DType::kFloat32, {kElements});
  builder_.add_op(kMul, {ref(orphan), ref(x_)}, {ref(orphan)});
  builder_.add_op(kRelu, {ref(orphan)}, {ref(orphan)});
  EXPECT_EQ(live(), (Bytes{200, 300, 300, 200, 200}));
}

TEST_F(LifetimesTest, AHeldStorageLivesUntilItIsLetGo) {
  hold(a_, 3);  // the number of instructions: to the end
  EXPECT_EQ(live(), (Bytes{200, 300, 400}));
  const Lifetimes lifetimes = lifetimes_of(program(), uses_of(program()));
  EXPECT_EQ(lifetimes.deaths[1].last_reads, std::vector<SlotId>{});
  EXPECT_EQ(lifetimes.deaths[2].let_go, std::vector<SlotId>{a_});
  EXPECT_TRUE(lifetimes.outlive.empty());
}

TEST_F(LifetimesTest, AHoldThatEndsBeforeTheLastReaderChangesNothing) {
  hold(a_, 2);
  EXPECT_EQ(live(), (Bytes{200, 300, 300}));
}

TEST_F(LifetimesTest, AHeldResultThatNothingReadsIsKept) {
  builder_.add_op(kRelu, {ref(x_)}, {ref(x_)});
  hold(c_, 4);
  EXPECT_EQ(live(), (Bytes{200, 300, 300, 200}));
}

TEST_F(LifetimesTest, AHoldCanOutliveTheStep) {
  hold(c_, 1);  // made by instruction 2, let go before instruction 1 of the next step
  EXPECT_EQ(live(), (Bytes{300, 300, 300}));
  const Lifetimes lifetimes = lifetimes_of(program(), uses_of(program()));
  EXPECT_EQ(lifetimes.deaths[0].let_go, std::vector<SlotId>{c_});
  EXPECT_EQ(lifetimes.outlive, std::vector<SlotId>{c_});
}

TEST_F(LifetimesTest, BeforeTheFirstInstructionIsBehindTheLast) {
  hold(a_, 0);
  EXPECT_EQ(live(), (Bytes{200, 300, 400}));
  EXPECT_TRUE(lifetimes_of(program(), uses_of(program())).outlive.empty());
}

TEST_F(LifetimesTest, ThePlanNamesPeakAndLargest) {
  const SlotId large = builder_.intermediate(DType::kFloat32, {4, kElements});
  builder_.add_op(kRelu, {ref(x_)}, {ref(large)});
  hold(c_, 3);
  const MemoryPlan plan = plan_memory(program(), 2);
  EXPECT_EQ(plan.external_bytes, kTensor);
  EXPECT_EQ(plan.peak_bytes, 500U);
  EXPECT_EQ(plan.peak, 3U);
  ASSERT_EQ(plan.largest.size(), 2U);
  EXPECT_EQ(layout_text(program().slots[plan.largest[0].slot]), "float32[4, 25]");
  EXPECT_EQ(maker_text(program(), plan, plan.largest[0]), "aten::relu, node 104");
  EXPECT_EQ(plan.largest[1].bytes, kTensor);
  EXPECT_TRUE(plan.largest[1].external);
  EXPECT_EQ(maker_text(program(), plan, plan.largest[1]), "before the step");
}

TEST_F(LifetimesTest, WhatTheStepBeforeLeftIsNamed) {
  hold(c_, 2);
  const MemoryPlan plan = plan_memory(program());
  EXPECT_EQ(plan.peak, 1U);
  EXPECT_EQ(plan.peak_bytes, 400U);
  ASSERT_EQ(plan.largest.size(), 4U);
  EXPECT_EQ(maker_text(program(), plan, plan.largest[3]),
            "aten::relu, node 103, in the step before");
}

TEST(MemoryPlan, ExternalsThatOnlyBodiesUseAreNotMade) {
  ProgramBuilder builder;
  const SlotId x = builder.external(DType::kFloat32, {kElements}, constant(1));
  const SlotId other = builder.external(DType::kFloat32, {kElements}, constant(1));
  const SlotId y = builder.intermediate(DType::kFloat32, {kElements});
  builder.add_op(kRelu, {ref(x)}, {ref(y)}).body = {
      builder.op(kMul, {ref(x), ref(other)}, {ref(y)})};
  EXPECT_EQ(plan_memory(builder.program()).external_bytes, kTensor);
}

TEST(MemoryPlan, OfNothing) {
  const MemoryPlan plan = plan_memory(Program{});
  EXPECT_EQ(plan.peak_bytes, 0U);
  EXPECT_FALSE(plan.peak.has_value());
  EXPECT_TRUE(plan.largest.empty());
}

}  // namespace
}  // namespace understudy::et_schema
