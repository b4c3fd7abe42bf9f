#include "et_schema/model/kernel_class.h"

#include <algorithm>
#include <array>
#include <utility>

namespace understudy::et_schema {
namespace {

using KernelRow = std::pair<std::string_view, std::string_view>;

/// Part of the name → class. The first row that fits decides.
constexpr std::array kKernelRows = std::to_array<KernelRow>({
    {"Memcpy", "copy"},
    {"Memset", "copy"},
    {"nccl", "communication"},  // also of RCCL
    {"nvshmem", "communication"},
    {"cross_device_reduce", "communication"},  // vLLM's, SGLang's
    {"one_shot_all_reduce", "communication"},
    {"two_shot_all_reduce", "communication"},
    {"allreduce_kernel", "communication"},
    {"triton_poi_", "compiled"},
    {"triton_red_", "compiled"},
    {"triton_per_", "compiled"},
    {"triton_tem_", "compiled"},
    {"triton_for_", "compiled"},
    {"triton_unk_", "compiled"},
    {"flash", "attention"},
    {"fmha", "attention"},
    {"attn", "attention"},
    {"attention", "attention"},
    {"Attention", "attention"},
    {"fused_mha", "attention"},
    // Layouts that libraries change for themselves.
    {"nchwToNhwc", "copy"},
    {"nhwcToNchw", "copy"},
    {"batched_transpose", "copy"},
    // A convolution by Fourier transforms: its products are complex.
    {"gcgemm", "convolution"},
    {"fft2d_", "convolution"},
    {"fprop", "convolution"},
    {"dgrad", "convolution"},
    {"wgrad", "convolution"},
    {"conv", "convolution"},
    {"Conv", "convolution"},
    {"scudnn", "convolution"},
    {"winograd", "convolution"},
    {"Winograd", "convolution"},
    {"igemm_fwd_", "convolution"},  // MIOpen's
    {"igemm_bwd_", "convolution"},
    {"igemm_wrw_", "convolution"},
    {"im2col", "convolution"},
    {"col2im", "convolution"},
    {"bn_fw", "normalization"},  // cuDNN's
    {"bn_bw", "normalization"},
    {"BatchNorm", "normalization"},
    {"batch_norm", "normalization"},
    {"layer_norm", "normalization"},
    {"LayerNorm", "normalization"},
    {"GammaBeta", "normalization"},
    {"group_norm", "normalization"},
    {"GroupNorm", "normalization"},
    {"RowwiseMoments", "normalization"},
    {"rms_norm", "normalization"},
    {"RMSNorm", "normalization"},
    {"rmsnorm", "normalization"},
    {"RNN", "recurrent"},
    {"LSTM", "recurrent"},
    {"lstm_cell", "recurrent"},
    {"gru_cell", "recurrent"},
    {"gemm", "matmul"},
    {"Gemm", "matmul"},
    {"GEMM", "matmul"},
    {"Cijk_", "matmul"},    // hipBLASLt's and Tensile's
    {"nvjet", "matmul"},    // cuBLAS's on Hopper and later
    {"cutlass", "matmul"},  // what is none of the above
    {"gemv", "matmul"},
    {"splitKreduce", "matmul"},
    {"cublas", "matmul"},
    {"marlin", "matmul"},
    {"machete", "matmul"},
    {"dot_kernel", "matmul"},
    {"embedding", "embedding"},
    {"Embedding", "embedding"},
    {"EmbeddingBag", "embedding"},
    {"multi_tensor_apply", "optimizer"},
    {"FusedAdam", "optimizer"},
    {"adamw", "optimizer"},
    {"nll_loss", "loss"},
    {"cross_entropy", "loss"},
    {"Softmax", "softmax"},
    {"softmax", "softmax"},
    {"pool", "pooling"},
    {"fft", "fft"},
    {"distribution_elementwise", "random"},
    {"dropout", "random"},
    {"philox", "random"},
    {"RadixSort", "sort"},
    {"radixSort", "sort"},
    {"bitonic", "sort"},
    {"topk", "sort"},
    {"TopK", "sort"},
    {"DeviceMergeSort", "sort"},
    {"DeviceScan", "reduction"},
    {"scan", "reduction"},
    {"index", "index"},
    {"Index", "index"},
    {"gather", "index"},
    {"scatter", "index"},
    {"masked_", "index"},
    {"DeviceSelect", "index"},
    {"CatArrayBatchedCopy", "copy"},
    {"copy_kernel", "copy"},
    {"FillFunctor", "copy"},
    {"reduce_kernel", "reduction"},
    {"DeviceReduce", "reduction"},
    {"elementwise", "elementwise"},
    {"SubTensorOp", "elementwise"},  // MIOpen's
    {"OpTensorKernel", "elementwise"},
    {"op_tensor", "elementwise"},
});

}  // namespace

std::string_view kernel_class(std::string_view kernel) {
  const auto fits = [kernel](const KernelRow& row) {
    return kernel.find(row.first) != std::string_view::npos;
  };
  const auto row = std::ranges::find_if(kKernelRows, fits);
  return row == kKernelRows.end() ? "other" : row->second;
}

}  // namespace understudy::et_schema
