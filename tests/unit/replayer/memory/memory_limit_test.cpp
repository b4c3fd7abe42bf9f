// What a program needs, and its refusal before anything is allocated.

#include "replayer/memory/memory_limit.h"

#include <gtest/gtest.h>

#include "program_builder.h"
#include "replayer/memory/memory.h"
#include "testing/error_text.h"

namespace understudy::replayer::testing {
namespace {

const c10::Device kCpu(c10::kCPU);

class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() {
    builder_.add_op(kRelu, {ref(x_)}, {ref(y_)});
    builder_.add_op(kMul, {ref(y_), ref(x_)}, {ref(z_)});
  }
  std::string refusal(std::optional<std::uint64_t> limit) {
    return testing_errors::error_of(et_schema::ErrorKind::kFailed,
                                    [&] { return check_memory(builder_.program(), kCpu, limit); });
  }

  ProgramBuilder builder_;
  SlotId x_ = builder_.external(DType::kFloat32, {16}, constant(1));
  SlotId y_ = builder_.intermediate(DType::kFloat32, {16});
  SlotId z_ = builder_.intermediate(DType::kFloat32, {16});
};

TEST_F(MemoryLimitTest, WhatFitsIsNotRefused) {
  EXPECT_EQ(needed_bytes_on(builder_.program(), kCpu, kCpu), 192U);
  EXPECT_EQ(refusal(192), "no error");
  EXPECT_EQ(refusal(std::nullopt), "no error");
}

TEST_F(MemoryLimitTest, ARefusalHasTheFacts) {
  EXPECT_EQ(
      refusal(191),
      "the benchmark needs more memory than it may take\n"
      "  node:     102\n"
      "  field:    --memory-limit\n"
      "  expected: at most 191 bytes\n"
      "  got:      192 bytes in aten::mul.Tensor, 64 of them made before the step; the "
      "largest tensors:\n"
      "            64 bytes: float32[16], before the step\n"
      "            64 bytes: float32[16], aten::relu, node 101\n"
      "            64 bytes: float32[16], aten::mul.Tensor, node 102\n"
      "  hint:     understudy inspect --memory shows what is alive when. Replay where there is "
      "more memory, or fewer ranks on this machine (mpirun with several hosts, or --rank K for one "
      "rank alone).");
}

TEST_F(MemoryLimitTest, TablesThatAreMappedOnDemandAreLeftOut) {
  const SlotId table =
      builder_.external(DType::kFloat32, {static_cast<std::int64_t>(kMappedBytes)}, constant(1));
  builder_.add_op(kRelu, {ref(table)}, {ref(table)});
  EXPECT_EQ(needed_bytes_on(builder_.program(), kCpu, kCpu), 192U);
}

}  // namespace
}  // namespace understudy::replayer::testing
