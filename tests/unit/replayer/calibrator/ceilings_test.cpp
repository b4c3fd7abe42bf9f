// The calls that show a machine's ceilings: working sets, and the work that their rates are of.

#include "replayer/calibrator/design/ceilings.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace understudy::calibrator {
namespace {

TEST(CeilingCalls, OfADeviceAreOfItsCacheItsMemoryAndEachType) {
  std::vector<std::string> told;
  for (const CeilingCall& ceiling : ceiling_calls(true)) {
    told.push_back(ceiling.name + " " + to_text(ceiling.call));
  }
  EXPECT_EQ(told,
            (std::vector<std::string>{"L2 aten::sum(float32[16,1048576]:[0,1])",
                                      "DRAM aten::sum(float32[1,268435456]:[0,1])",
                                      "float32 aten::mm(float32[8192,8192], float32[8192,8192])",
                                      "float64 aten::mm(float64[8192,8192], float64[8192,8192])",
                                      "bfloat16 aten::mm(bfloat16[8192,8192], bfloat16[8192,8192])",
                                      "float16 aten::mm(float16[8192,8192], float16[8192,8192])",
                                      "int8 aten::_int_mm(int8[8192,8192], int8[8192,8192])"}));
}

TEST(CeilingCalls, WorkIsBytesOrOperations) {
  const std::vector<CeilingCall> calls = ceiling_calls(true);
  EXPECT_EQ(calls[0].work, 64.0 * 1024 * 1024);
  EXPECT_TRUE(calls[0].is_bandwidth);
  EXPECT_EQ(calls[2].work, 2.0 * 8192 * 8192 * 8192);
  EXPECT_FALSE(calls[2].is_bandwidth);
}

TEST(CeilingCalls, OfAHostReadItsCachesFromSmallToLarge) {
  std::vector<std::int64_t> sets;
  for (const CeilingCall& one : ceiling_calls(false)) {
    if (one.is_bandwidth) {
      sets.push_back(tensor_bytes(one.call));
      EXPECT_GE(one.work, 32 << 20) << to_text(one.call);
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(sets));
  EXPECT_EQ(sets.back(), 128 << 20);
}

}  // namespace
}  // namespace understudy::calibrator
