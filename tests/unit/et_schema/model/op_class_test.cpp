#include "et_schema/model/op_class.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(OpClass, IsToldByTheName) {
  EXPECT_EQ(op_class("aten::mm"), "matmul");
  EXPECT_EQ(op_class("aten::linear"), "matmul");
  EXPECT_EQ(op_class("aten::cudnn_convolution"), "convolution");
  EXPECT_EQ(op_class("aten::convolution_backward"), "convolution");
  EXPECT_EQ(op_class("aten::native_batch_norm"), "normalization");
  EXPECT_EQ(op_class("aten::_scaled_dot_product_flash_attention_for_cpu"), "attention");
  EXPECT_EQ(op_class("aten::_foreach_add_.List"), "optimizer");
  EXPECT_EQ(op_class("aten::t"), "view");
  EXPECT_EQ(op_class("aten::tanh"), "elementwise");
  EXPECT_EQ(op_class("aten::add.Tensor"), "elementwise");
  EXPECT_EQ(op_class("aten::addmm"), "matmul");
  EXPECT_EQ(op_class("aten::sum.dim_IntList"), "reduction");
  EXPECT_EQ(op_class("fbgemm::split_embedding_codegen_lookup_adagrad_function"), "embedding");
  EXPECT_EQ(op_class("all_to_allv"), "communication");
  EXPECT_EQ(op_class("as_strided"), "view");
  EXPECT_EQ(op_class("cpp_fused_gelu_gelu_backward_sum_2"), "compiled");
  EXPECT_EQ(op_class("triton_poi_fused_add_0"), "compiled");
  EXPECT_EQ(op_class("## Call CompiledFxGraph fabc ##"), "compiled");
}

}  // namespace
}  // namespace understudy::et_schema
