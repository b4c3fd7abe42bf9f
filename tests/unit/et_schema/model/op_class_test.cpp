#include "et_schema/model/op_class.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace understudy::et_schema {
namespace {

/// `names`: operators, apart by spaces.
void expect_all_are(std::string_view expected, const std::string& names) {
  std::istringstream words(names);
  for (std::string name; words >> name;) {
    EXPECT_EQ(op_class(name), expected) << name;
  }
}

TEST(OpClass, IsToldByTheName) {
  expect_all_are("matmul", "aten::mm aten::linear");
  expect_all_are("convolution", "aten::cudnn_convolution aten::convolution_backward");
  EXPECT_EQ(op_class("aten::native_batch_norm"), "normalization");
  EXPECT_EQ(op_class("aten::_scaled_dot_product_flash_attention_for_cpu"), "attention");
  EXPECT_EQ(op_class("aten::_foreach_add_.List"), "optimizer");
  EXPECT_EQ(op_class("aten::t"), "view");
  EXPECT_EQ(op_class("aten::tanh"), "elementwise");
  EXPECT_EQ(op_class("aten::add.Tensor"), "elementwise");
  EXPECT_EQ(op_class("aten::addmm"), "matmul");
  EXPECT_EQ(op_class("aten::sum.dim_IntList"), "reduction");
  EXPECT_EQ(op_class("aten::new_zeros"), "allocation");
  EXPECT_EQ(op_class("aten::new_empty"), "allocation");
  EXPECT_EQ(op_class("fbgemm::split_embedding_codegen_lookup_adagrad_function"), "embedding");
  EXPECT_EQ(op_class("all_to_allv"), "communication");
  EXPECT_EQ(op_class("as_strided"), "view");
  EXPECT_EQ(op_class("cpp_fused_gelu_gelu_backward_sum_2"), "compiled");
  EXPECT_EQ(op_class("triton_poi_fused_add_0"), "compiled");
  EXPECT_EQ(op_class("_layer_norm_fwd_1pass_kernel"), "compiled");
  EXPECT_EQ(op_class("kernel1"), "compiled") << "an obfuscated one";
  EXPECT_EQ(op_class("_allgather_base"), "communication");
  EXPECT_EQ(op_class("wait"), "communication");
  EXPECT_EQ(op_class("## Call CompiledFxGraph fabc ##"), "compiled");
}

TEST(KernelClass, IsCommunicationByWhatAKernelDoes) {
  for (const char* name :
       {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)",
        "void acme::ep::internode::combine<false, 8>(int4*, float*)",
        "void intranode::notify_dispatch<8>(int const*)",
        "void acme::layout::get_dispatch_layout<256, 32, 8>(long const*)",
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<half>>(half*)",
        "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
        "void pplx::a2a_dispatch_send_kernel<1>(int)",
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8>(Params)",
        "void multimem_all_reduce_kernel<c10::BFloat16, 16>(x)",
        "void c10d::symmetric_memory::barrier_kernel(unsigned int**, int)",
        "mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>"}) {
    EXPECT_EQ(kernel_class(name), "communication") << name;
  }
  EXPECT_EQ(kernel_class("void flash_fwd_splitkv_combine_kernel<8>(Params)"), "attention");
  EXPECT_EQ(kernel_class("triton_poi_fused_all_reduce_0"), "compiled");
  EXPECT_EQ(kernel_class("void moe_dispatch_gemm<half>(half*)"), "matmul");
}

TEST(OpClass, WhatDrawsIsRandom) {
  expect_all_are(
      "random",
      "aten::rand aten::rand_like aten::randn aten::randn_like aten::randn.generator "
      "aten::randint.low aten::randint_like aten::randperm aten::random_.from "
      "aten::normal.float_float aten::normal_ aten::log_normal_ aten::uniform_ "
      "aten::multinomial aten::exponential_ aten::geometric_ aten::cauchy_ aten::poisson "
      "aten::binomial aten::_standard_gamma aten::_sample_dirichlet aten::bernoulli_.float "
      "aten::dropout");
  EXPECT_EQ(op_class("aten::poisson_nll_loss"), "loss");
}

TEST(OpClass, WhatMovesNoBytesIsAView) {
  expect_all_are(
      "view",
      "aten::broadcast_tensors aten::numpy_T aten::resolve_conj aten::resolve_neg aten::view_as "
      "aten::_conj aten::conj aten::diagonal aten::imag aten::real aten::mH aten::mT "
      "aten::adjoint aten::matrix_H aten::movedim.int aten::moveaxis aten::swapaxes "
      "aten::swapdims aten::unfold");
}

TEST(OpClass, WhatMovesBytesIsNoView) {
  expect_all_are(
      "copy",
      "aten::slice_backward aten::select_backward aten::diagonal_backward aten::unfold_backward "
      "aten::_chunk_cat aten::concat");
  expect_all_are("index", "aten::value_selecting_reduction_backward aten::index_select_backward");
  expect_all_are("convolution", "aten::slow_conv_transpose2d aten::slow_conv3d_forward");
  expect_all_are("elementwise", "aten::conj_physical aten::_conj_physical aten::copysign.Tensor");
}

TEST(OpClass, DecompositionsAndSolversAreLinearAlgebra) {
  expect_all_are(
      "linalg",
      "aten::linalg_cholesky_ex aten::linalg_eigh aten::_linalg_svd aten::linalg_qr "
      "aten::_linalg_solve_ex.result aten::linalg_inv_ex aten::linalg_lu_factor_ex "
      "aten::linalg_solve_triangular aten::linalg_lstsq aten::linalg_matrix_exp "
      "aten::cholesky_solve aten::_cholesky_solve_helper aten::triangular_solve aten::inverse "
      "aten::logdet aten::slogdet aten::lu_solve aten::lu_unpack aten::_lu_with_info aten::qr "
      "aten::svd aten::ormqr aten::nuclear_norm");
  EXPECT_EQ(op_class("aten::linalg_diagonal"), "view");
  EXPECT_EQ(op_class("aten::linalg_cross"), "elementwise");
  EXPECT_EQ(op_class("aten::detach"), "view");
}

TEST(OpClass, FourierTransformsAreAClass) {
  expect_all_are(
      "fft", "aten::fft_rfft2 aten::_fft_r2c aten::_fft_c2c aten::_fft_c2r aten::stft aten::istft");
  EXPECT_EQ(op_class("aten::fft_fftshift"), "copy");
  EXPECT_EQ(op_class("aten::fft_rfftfreq"), "elementwise");
}

TEST(OpClass, WhatMultipliesMatricesIsAProduct) {
  expect_all_are("matmul",
                 "aten::_scaled_mm aten::_int_mm aten::_grouped_mm aten::_sparse_mm "
                 "aten::_weight_int4pack_mm_for_cpu aten::mkldnn_linear mkldnn::_linear_pointwise "
                 "onednn::qlinear_pointwise aten::vdot aten::linalg_matmul aten::linalg_vecdot "
                 "aten::linalg_multi_dot aten::linalg_matrix_power");
  EXPECT_EQ(op_class("aten::upsample_linear1d"), "elementwise");
}

TEST(OpClass, EachIsInTheListAndInTheDocument) {
  std::ifstream file(std::filesystem::path(UNDERSTUDY_DOCS) / "metrics.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = text.find("`class` depends on the operator's name");
  ASSERT_NE(begin, std::string::npos);
  const std::string list = text.substr(begin, text.find("for all others", begin) - begin);
  EXPECT_EQ(std::ranges::count(list, '`'),
            2 * static_cast<std::ptrdiff_t>(op_classes().size() + 1));
  for (const std::string_view name : op_classes()) {
    EXPECT_NE(list.find(fmt::format("`{}`", name)), std::string::npos) << name;
  }
  for (const char* name : {"aten::mm", "aten::linalg_qr", "aten::_fft_c2c", "triton_poi_fused_0",
                           "all_to_allv", "aten::cosh", "aten::topk"}) {
    EXPECT_NE(std::ranges::find(op_classes(), op_class(name)), op_classes().end()) << name;
  }
}

TEST(OpClass, WhatMakesOneNumberOfManyReduces) {
  expect_all_are(
      "reduction",
      "aten::amax aten::amin aten::aminmax aten::prod.dim_int aten::nansum "
      "aten::norm.ScalarOpt_dim aten::linalg_vector_norm aten::logsumexp aten::linalg_norm "
      "aten::linalg_matrix_norm aten::frobenius_norm aten::logcumsumexp aten::cumprod "
      "aten::_cummax_helper aten::segment_reduce aten::_segment_reduce_backward "
      "aten::count_nonzero.dim_IntList");
  EXPECT_EQ(op_class("aten::nonzero"), "index");
  EXPECT_EQ(op_class("aten::kthvalue"), "sort");
  EXPECT_EQ(op_class("aten::_foreach_norm.Scalar"), "optimizer");
  EXPECT_EQ(op_class("aten::native_layer_norm"), "normalization");
  EXPECT_EQ(op_class("aten::binary_cross_entropy_with_logits"), "loss");
  EXPECT_EQ(op_class("aten::kl_div"), "loss");
}

}  // namespace
}  // namespace understudy::et_schema
