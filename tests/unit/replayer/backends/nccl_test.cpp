#include <gtest/gtest.h>

#include "nccl_calls.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using et_schema::DType;

bool reduces(DType dtype, ReduceOp op, double factor = 1) {
  return reduces_on_device(
      {.kind = CommKind::kAllReduce, .op = op, .factor = factor, .inputs = {{nullptr, 0, dtype}}});
}

TEST(ReducesOnDevice, NumbersAsTheyAre) {
  EXPECT_TRUE(reduces(DType::kFloat32, ReduceOp::kSum));
  EXPECT_TRUE(reduces(DType::kFloat32, ReduceOp::kSum, 0.5));
  EXPECT_TRUE(reduces(DType::kBFloat16, ReduceOp::kAvg));
  EXPECT_TRUE(reduces(DType::kInt64, ReduceOp::kMin));
  EXPECT_TRUE(reduces(DType::kComplexFloat32, ReduceOp::kSum));
}

TEST(ReducesOnDevice, BoolsByTheirMaximumOrMinimum) {
  EXPECT_TRUE(reduces(DType::kBool, ReduceOp::kSum));
  EXPECT_TRUE(reduces(DType::kBool, ReduceOp::kBand));
  EXPECT_FALSE(reduces(DType::kBool, ReduceOp::kBxor));
}

TEST(ReducesOnDevice, NotWhatPyTorchLacks) {
  EXPECT_FALSE(reduces(DType::kInt16, ReduceOp::kSum));
  EXPECT_FALSE(reduces(DType::kUInt64, ReduceOp::kSum));
  EXPECT_FALSE(reduces(DType::kInt32, ReduceOp::kBor));
  EXPECT_FALSE(reduces(DType::kComplexFloat32, ReduceOp::kProduct));
  EXPECT_FALSE(reduces(DType::kFloat8E5M2, ReduceOp::kSum));
}

}  // namespace
}  // namespace understudy::backends
