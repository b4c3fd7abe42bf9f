#include "et_schema/facts/public_operators.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(PublicOperators, AreTheOverloadsThatPyTorchAndFbgemmRegister) {
  for (const char* name :
       {"aten::add.Tensor", "aten::add", "aten::relu", "aten::_foreach_addcdiv_.Scalar",
        "c10d::allreduce_", "_c10d_functional::all_reduce", "prims::convert_element_type",
        "fbgemm::permute_2D_sparse_data", "torchvision::nms",
        "quantized_decomposed::quantize_per_tensor", "inductor::accumulate_grad_"}) {
    EXPECT_TRUE(is_public_operator(name)) << name;
  }
}

TEST(PublicOperators, OthersInTheirNamespacesAreSomebodysOwn) {
  for (const char* name :
       {"aten::acme_attention", "aten::add.acme", "aten::add.", "aten::", "aten", "",
        "aten::add.Tensor.acme", "aten::ad", "aten::adda", "aten::add Tensor", "aten::add|Tensor",
        "fbgemm::acme_lookup", "prims::acme", "acme::add.Tensor"}) {
    EXPECT_FALSE(is_public_operator(name)) << name;
  }
}

TEST(PublicOperators, ThoseOfOtherReleasesAreAmongThem) {
  EXPECT_TRUE(is_public_operator("aten::_chunk_grad_outputs_efficient_attention"));
  EXPECT_TRUE(is_public_operator("aten::_upsample_bicubic2d_aa.vec_out"));
}

}  // namespace
}  // namespace understudy::et_schema
