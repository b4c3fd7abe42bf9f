#include "et_schema/model/op_class.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/words.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/program.h"

namespace understudy::et_schema {
namespace {

constexpr EnumNames<InstructionKind::kMarker> kKindNames("op", "alias", "native", "collective",
                                                         "p2p", "wait", "kernel", "marker");

constexpr std::array kClasses = std::to_array<std::string_view>(
    {"matmul",  "convolution", "attention",     "normalization", "recurrent", "embedding",
     "pooling", "optimizer",   "loss",          "softmax",       "linalg",    "fft",
     "copy",    "reduction",   "view",          "allocation",    "index",     "random",
     "sort",    "compiled",    "communication", "elementwise"});

/// A class, and parts of its operators' names.
struct ClassRow {
  std::string_view name;
  std::string_view parts;  ///< words (words.h)
};

/// The first row with a matching part decides.
constexpr ClassRow kOperatorRows[] = {
    {"random", "::log_normal"},
    {"elementwise", "copysign conj_physical"},
    {"reduction", "linalg_vector_norm linalg_matrix_norm linalg_norm frobenius_norm"},
    {"linalg", "nuclear_norm"},
    {"optimizer", "_foreach_norm"},
    {"convolution", "slow_conv qconv thnn_conv"},
    {"attention", "attention"},
    {"convolution", "convolution ::conv"},
    {"normalization", "_norm"},
    {"embedding", "embedding lookup_function Lookup"},
    {"recurrent", "lstm gru rnn"},
    {"optimizer", "_fused_adam _fused_sgd _foreach_"},
    {"loss", "_loss cross_entropy ::kl_div"},
    {"softmax", "softmax"},
    {"pooling", "pool"},
    {"matmul",
     "addmm ::mm _mm bmm matmul ::linear mkldnn_linear _linear_pointwise qlinear addmv ::mv ::dot "
     "::vdot _vecdot multi_dot matrix_power einsum"},
    {"copy", "fftshift"},
    {"elementwise", "fftfreq"},
    {"fft", "fft ::stft ::istft"},
    {"view", "linalg_diagonal"},
    {"elementwise", "linalg_cross linalg_vander"},
    {"linalg",
     "linalg cholesky triangular_solve matrix_exp ::inverse ::pinverse ::det ::logdet ::slogdet "
     "::qr ::svd ::_svd_helper ::geqrf ::orgqr ::ormqr ::lu ::_lu"},
    {"random",
     "bernoulli dropout ::rand ::randn ::randint ::randperm ::random ::normal normal_ uniform_ "
     "multinomial ::exponential ::geometric ::cauchy ::poisson ::binomial ::_standard_gamma "
     "::_sample_dirichlet"},
    {"allocation", "empty ::zeros ::new ::ones ::full resize_"},
    {"copy",
     "copy ::to clone contiguous ::cat chunk_cat ::concat ::concatenate slice_backward "
     "::select_backward diagonal_backward unfold_backward"},
    {"index", "value_selecting_reduction"},
    {"copy", "stack"},
    {"index", "index ::coalesce ::_coalesce ::sparse_mask gather scatter masked_"},
    {"reduction", "count_nonzero"},
    {"index", "nonzero permute_1D permute_2D"},
    {"sort", "sort topk kthvalue median unique"},
    {"reduction",
     "::sum ::mean ::max ::min ::argmax ::argmin ::var ::std cumsum cumprod cummax cummin "
     "logcumsumexp segment_reduce ::prod ::norm ::amax ::amin ::aminmax ::nansum ::logsumexp ::any "
     "::all"},
    {"view",
     "view as_strided ::t transpose permute expand reshape squeeze slice select narrow split chunk "
     "unbind flatten detach alias lift_fresh ::broadcast_tensors ::numpy_T ::resolve_conj ::_conj "
     "::conj ::diagonal ::imag ::mH ::mT ::adjoint ::matrix_H ::movedim ::moveaxis ::real "
     "::swapaxes ::swapdims ::unfold ::resolve_neg ::_indices ::_values "
     "::_sparse_coo_tensor_unsafe"},
};

/// The same for kernels.
constexpr ClassRow kKernelRows[] = {
    {"copy", "Memcpy Memset"},
    // Inductor's names hold those of the operators that it fused.
    {"compiled", "triton_poi_ triton_red_ triton_per_ triton_tem_ triton_for_ triton_unk_"},
    // What a kernel does between devices, in whichever library. nccl: also RCCL. hcom_: HCCL.
    // internode, intranode, notify, get_dispatch_layout, clean_low_latency_buffer: DeepEP and what
    // was made of it, in any namespace. hybrid_ep, Ep…: DeepEP's successor and mori. userbuffers_:
    // TransformerEngine and TensorRT-LLM. multimem_, …_shot_, exchangeSplitAndOffset,
    // symmetric_memory, tile_reduce_scatter: torch.ops.symm_mem. cross_device_: vLLM, SGLang and
    // AITER. quickreduce: vLLM. lamport: FlashInfer. a2a_: pplx-kernels.
    {"communication",
     "nccl nvshmem rocshmem deep_ep userbuffers_ multimem_ one_shot_ two_shot_ symmetric_memory "
     "exchangeSplitAndOffset cross_device_ quickreduce quick_reduce lamport msccl a2a_ hccl hcom_ "
     "internode intranode notify_dispatch notify_combine cached_notify get_dispatch_layout "
     "clean_low_latency_buffer hybrid_ep EpDispatch EpCombine "
     "all_reduce allreduce AllReduce allReduce all_gather allgather AllGather allGather "
     "reduce_scatter reducescatter ReduceScatter reduceScatter all_to_all alltoall AllToAll "
     "allToAll"},
    // compute_dot_do_o and convert_dq: cuDNN, helpers of its backward kernels.
    {"attention", "flash fmha attn attention Attention fused_mha compute_dot_do_o convert_dq"},
    // Changes of layout inside of libraries.
    {"copy", "nchwToNhwc nhwcToNchw batched_transpose nhwcAddPadding"},
    // gcgemm: the complex products of a convolution by Fourier transforms. igemm_*: MIOpen.
    {"convolution",
     "gcgemm fft2d_ fprop dgrad wgrad conv Conv scudnn winograd Winograd igemm_fwd_ igemm_bwd_ "
     "igemm_wrw_ im2col col2im"},
    // bn_*: cuDNN. ComputeInternalGradients, Compute…FusedParams: PyTorch's group normalization.
    {"normalization",
     "bn_fw bn_bw BatchNorm batch_norm layer_norm LayerNorm GammaBeta group_norm GroupNorm "
     "RowwiseMoments rms_norm RMSNorm rmsnorm ComputeInternalGradients ComputeFusedParams "
     "ComputeBackwardFusedParams"},
    {"recurrent", "RNN LSTM lstm_cell gru_cell"},
    // Cijk_: hipBLASLt and Tensile. nvjet: cuBLAS on Hopper and later. cutlass: only kernels that
    // no row above matches. fused_moe: vLLM's and SGLang's.
    {"matmul",
     "gemm Gemm GEMM Cijk_ nvjet cutlass gemv splitK cublas marlin machete dot_kernel fused_moe"},
    // compute_grad_weight, krn_partial… and compute_num_of_partial_segments: the backward kernels.
    {"embedding",
     "embedding Embedding EmbeddingBag compute_grad_weight krn_partial partial_segments"},
    {"optimizer", "multi_tensor_apply FusedAdam adamw"},
    {"loss", "nll_loss cross_entropy"},
    {"softmax", "Softmax softmax SoftMax"},
    {"pooling", "pool"},
    {"fft", "fft"},
    {"random", "distribution_elementwise dropout philox"},
    {"sort", "RadixSort radixSort bitonic topk TopK DeviceMergeSort DeviceUniqueByKey"},
    {"reduction", "DeviceScan scan"},
    {"index", "index Index gather scatter masked_ DeviceSelect"},
    {"copy", "CatArrayBatchedCopy copy_kernel FillFunctor"},
    {"reduction", "reduce_kernel DeviceReduce"},
    // SubTensorOp: MIOpen.
    {"elementwise", "elementwise SubTensorOp OpTensorKernel op_tensor"},
};

/// Parts with "::" must match the whole name behind the namespace, or its beginning up to an
/// underscore, a digit or a dot ("::t" does not match "tanh"). Other parts match anywhere.
bool fits(std::string_view op, std::string_view part) {
  if (part.substr(0, 2) != "::") {
    return op.find(part) != std::string_view::npos;
  }
  const std::size_t at = op.find(part);
  if (at == std::string_view::npos) {
    return false;
  }
  const std::size_t end = at + part.size();
  return end == op.size() || op[end] == '_' || op[end] == '.' || (op[end] >= '0' && op[end] <= '9');
}

template <typename Fits>
const ClassRow* find_class(std::span<const ClassRow> rows, const Fits& fits) {
  const auto row = std::ranges::find_if(
      rows, [&](const ClassRow& candidate) { return any_word(candidate.parts, fits); });
  return row == rows.end() ? nullptr : &*row;
}

/// Returns true for inductor's kernels and for the graphs that contain them.
bool is_compiled(std::string_view op) {
  constexpr std::array<std::string_view, 5> kBeginnings = {
      "cpp_fused", "triton_", "## Call CompiledFxGraph", "CompiledFunction", "Torch-Compiled"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view beginning) { return op.starts_with(beginning); });
}

}  // namespace

std::span<const std::string_view> op_classes() {
  return kClasses;
}

std::string_view op_class(std::string_view op) {
  if (is_compiled(op)) {
    return "compiled";
  }
  if (op == "as_strided") {
    return "view";  // an alias that the original made outside of any operator
  }
  if (op.find("::") == std::string_view::npos) {
    // A name without namespace is a communication's or a hand-written kernel's.
    return kind_of_recorded_name(op) ? "communication" : "compiled";
  }
  if (!op.starts_with("aten::")) {
    const MapRow* const mapped = operator_map().find_name(op);
    op = mapped != nullptr && !mapped->like.empty() ? mapped->like : op;
  }
  // A step has few names and asks for their classes at every call.
  thread_local std::map<std::string, std::string_view, std::less<>> known;
  if (const auto found = known.find(op); found != known.end()) {
    return found->second;
  }
  const ClassRow* const row =
      find_class(kOperatorRows, [op](std::string_view part) { return fits(op, part); });
  return known.emplace(op, row == nullptr ? "elementwise" : row->name).first->second;
}

std::string_view to_string(InstructionKind kind) {
  return kKindNames[kind];
}

std::optional<InstructionKind> instruction_kind_from_string(std::string_view name) {
  return kKindNames.find(name);
}

std::string_view kernel_class(std::string_view kernel) {
  const ClassRow* const row = find_class(kKernelRows, [kernel](std::string_view part) {
    return kernel.find(part) != std::string_view::npos;
  });
  return row == nullptr ? "other" : row->name;
}

bool multiplies_tf32(std::string_view kernel) {
  return kernel.find("tf32f32") != std::string_view::npos ||
         kernel.find("s1688gemm") != std::string_view::npos;
}

}  // namespace understudy::et_schema
