// Layouts of tensors: their texts, and what they tell about memory.

#include "et_schema/model/tensor_layout.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(TensorLayout, TextAndBack) {
  for (const char* text :
       {"float32[4,5]", "float32[4,5;1,4]", "int64[]", "bfloat16[0]", "float32[4,5;0,0;10]"}) {
    const auto tensor = parse_tensor_layout(text);
    ASSERT_TRUE(tensor) << text;
    EXPECT_EQ(to_string(*tensor), text);
  }
  for (const char* text :
       {"float32", "float32[1", "float32[1,]", "float32[-1]", "float99[1]", "float32[1;1,1]",
        "float32[4;;1]", "float32[4;0;1,1]", "float32[4;0;1;1]", "float32[1]x", "[", ""}) {
    EXPECT_FALSE(parse_tensor_layout(text)) << text;
  }
}

TEST(TensorLayout, ASparseOneHasTheNumbersThatItHolds) {
  const TensorLayout sparse = *parse_tensor_layout("float32[1000,16;0,0;1120]");
  EXPECT_EQ(sparse.stored, 1120);
  EXPECT_EQ(element_count(sparse), 1120);
  EXPECT_EQ(stored_bytes(sparse), 4480);
}

TEST(TensorLayout, AnExpandedDimensionIsStoredOnce) {
  EXPECT_EQ(stored_bytes(*parse_tensor_layout("float32[100,8;0,1]")), 32);
  EXPECT_TRUE(is_contiguous(*parse_tensor_layout("float32[1,8;99,1]")));
  EXPECT_FALSE(is_contiguous(*parse_tensor_layout("float32[2,8;1,2]")));
}

TEST(TensorLayout, OnlyAContiguousOneNeedsNoStrides) {
  const auto dropped = [](TensorLayout tensor) {
    drop_contiguous_strides(tensor);
    return to_string(tensor);
  };
  EXPECT_EQ(dropped({DType::kInt8, {1, 4}, {9, 1}}), "int8[1,4]");
  EXPECT_EQ(dropped({DType::kInt8, {2, 4}, {1, 2}}), "int8[2,4;1,2]");
  EXPECT_EQ(dropped({DType::kInt8, {1, 1}, {0, 0}, 1}), "int8[1,1;0,0;1]");
}

}  // namespace
}  // namespace understudy::et_schema
