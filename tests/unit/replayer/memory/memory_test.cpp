#include "replayer/memory/memory.h"

#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fixture.h"

namespace understudy::replayer::testing {
namespace {

/// So many blocks of a size: what the C library leaves at a block rather than split it counts too.
long blocks_of(std::uint64_t bytes, std::uint64_t block_bytes) {
  return std::lround(static_cast<double>(bytes) / static_cast<double>(block_bytes));
}

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(CountingAllocator, CountsWhatIsLiveAndItsPeak) {
  count_cpu_allocations();
  constexpr std::int64_t kBytes = 1 << 20;
  const std::uint64_t before = cpu_allocations().live_bytes;
  reset_cpu_peak();
  {
    const at::Tensor first = at::empty({kBytes}, at::kByte);
    { const at::Tensor second = at::empty({kBytes}, at::kByte); }
    const at::RecordFunctionGuard beside_the_step(false);
    const at::Tensor third = at::empty({2 * kBytes}, at::kByte);
    EXPECT_EQ(blocks_of(cpu_allocations().live_bytes - before, kBytes), 1);
  }
  EXPECT_EQ(cpu_allocations().live_bytes, before);
  EXPECT_EQ(blocks_of(cpu_allocations().peak_bytes - before, kBytes), 2);
}

TEST(MappedStorage, OnlyTouchedPagesTakeMemory) {
  const c10::Storage storage = map_storage(kMappedBytes * 16);
  EXPECT_EQ(touched_bytes(storage), 0U);
  std::memset(static_cast<char*>(storage.mutable_data()) + kMappedBytes, 1, 100);
  EXPECT_GT(touched_bytes(storage), 0U);
  EXPECT_LE(touched_bytes(storage), 2 * page_bytes());
}

class MemoryTest : public ReplayerTest {};

TEST_F(MemoryTest, PeakStaysWithinTheLifetimes) {
  count_cpu_allocations();
  constexpr std::int64_t kElements = 1 << 18;
  SlotId last = builder_.external(DType::kFloat32, {kElements}, constant(1));
  for (int i = 0; i < 20; ++i) {
    const SlotId next = builder_.intermediate(DType::kFloat32, {kElements});
    builder_.add_op(kRelu, {ref(last)}, {ref(next)});
    last = next;
  }
  keep(last, sink(DType::kFloat32, {kElements}));
  try_out();
  reset_cpu_peak();
  const std::uint64_t before = cpu_allocations().live_bytes;
  iterate();
  const std::uint64_t after = cpu_allocations().live_bytes;
  EXPECT_EQ(result_.program.live_peak_bytes, 2U * 4U * kElements);
  EXPECT_LE(blocks_of(cpu_allocations().peak_bytes - before, 4U * kElements), 2);
  EXPECT_EQ(blocks_of(std::max(before, after) - std::min(before, after), 4U * kElements), 0);
}

TEST_F(MemoryTest, WhatTheOriginalHeldIsHeld) {
  count_cpu_allocations();
  constexpr std::int64_t kElements = 1 << 18;
  constexpr std::uint64_t kTensor = 4U * kElements;
  SlotId last = builder_.external(DType::kFloat32, {kElements}, constant(1));
  std::vector<SlotId> made;
  for (int i = 0; i < 4; ++i) {
    made.push_back(builder_.intermediate(DType::kFloat32, {kElements}));
    builder_.add_op(kRelu, {ref(last)}, {ref(made.back())});
    last = made.back();
  }
  const auto hold = [&](SlotId slot, std::uint32_t until) {
    builder_.program().storages[builder_.slot(slot).storage].held_until = until;
  };
  hold(made[0], 4);  // to the end
  hold(made[3], 1);  // into the next step
  try_out();
  iterate();
  EXPECT_FALSE(slot(made[0]).defined());
  EXPECT_TRUE(slot(made[3]).defined());
  EXPECT_EQ(slot(made[3])[0].item<float>(), 1.0F);
  EXPECT_EQ(result_.program.live_peak_bytes, 3 * kTensor);
  reset_cpu_peak();
  const std::uint64_t before = cpu_allocations().live_bytes;
  iterate();
  const std::uint64_t after = cpu_allocations().live_bytes;
  EXPECT_EQ(blocks_of(std::max(before, after) - std::min(before, after), kTensor), 0);
  // made[3] is there already.
  EXPECT_EQ(blocks_of(cpu_allocations().peak_bytes - before, kTensor), 2);
}

TEST_F(MemoryTest, AnOptimizersStateIsMadeWhereItsStepBegins) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(2));
  const SlotId state = builder_.external(DType::kFloat32, {4}, constant(3));
  builder_.program().storages[builder_.slot(state).storage].state = true;
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kRelu, {ref(x)}, {ref(y)});
  builder_.add_op(kAddInPlace, {ref(state), ref(y), number(1)}, {ref(state)});
  const TrialResult& result = try_out();
  EXPECT_EQ(result.program.states, std::vector<SlotId>{state});
  EXPECT_EQ(result.program.states_at, 1U);
  EXPECT_EQ(slot(state)[0].item<float>(), 5.0F);
  iterate();
  EXPECT_EQ(slot(state)[0].item<float>(), 5.0F);
}

TEST_F(MemoryTest, HugeTablesAreMappedAndOnlyTheRowsReadAreSeeded) {
  constexpr std::int64_t kRows = 4'000'000;
  constexpr std::int64_t kColumns = 64;  // a gigabyte
  const SlotId table = builder_.external(DType::kFloat32, {kRows, kColumns}, constant(0.25));
  const et_schema::ValueRule spread{et_schema::ValueRule::Integers{.high = kRows}};
  const SlotId indices = builder_.external(DType::kInt64, {16}, spread);
  const SlotId rows = builder_.intermediate(DType::kFloat32, {16, kColumns});
  const SlotId out = sink(DType::kFloat32, {16, kColumns});
  builder_.add_op(
      "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
      "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
      {ref(table), ref(indices), number(-1), flag(false), flag(false)}, {ref(rows)});
  keep(rows, out);
  try_out();
  EXPECT_TRUE(externals_->has_mapped());
  EXPECT_EQ(slot(out).min().item<float>(), 0.25F);
  EXPECT_LE(externals_->touched_mapped_bytes(), 16 * 2 * page_bytes());
}

TEST_F(MemoryTest, ALayoutOutsideOfItsStorageIsRefused) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  builder_.slot(x).offset = 1;
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kRelu, {ref(x)}, {ref(y)});
  EXPECT_EQ(failure(),
            "a tensor lies outside of its storage\n"
            "  field:    slot 0\n"
            "  expected: within 16 bytes\n"
            "  got:      20 bytes");
}

}  // namespace
}  // namespace understudy::replayer::testing
