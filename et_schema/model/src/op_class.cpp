#include "et_schema/model/op_class.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/joined_words.h"
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

/// The same for kernels: whole words in lower case, and neighbouring ones as one (kernel_words()).
constexpr ClassRow kKernelRows[] = {
    // copydevice, copyhost, …buffer: ROCm's runtime.
    {"copy", "memcpy memset copydevice copyhost copybuffer fillbuffer"},
    // Inductor's names hold those of the operators that it fused.
    {"compiled", "tritonpoi tritonspl tritonred tritonper tritontem tritonfor tritonunk"},
    // What a kernel does between devices, in whichever library. nccl: also RCCL. hcom: HCCL.
    // internode, intranode, notify, getdispatchlayout, cleanlowlatencybuffer: DeepEP and its
    // forks, in any namespace. hybridep: DeepEP's successor. ep…: mori. userbuffers:
    // TransformerEngine and TensorRT-LLM. multimem, …shot, exchangesplitandoffset,
    // symmetricmemory, tilereducescatter: torch.ops.symm_mem. crossdevice: vLLM, SGLang and
    // AITER. quickreduce: vLLM. lamport: FlashInfer. a2a: pplx-kernels.
    {"communication",
     "nccl nvshmem nvshmemi rocshmem deepep userbuffers multimem oneshot twoshot symmetricmemory "
     "exchangesplitandoffset crossdevice quickreduce lamport msccl mscclpp a2a hccl hcom internode "
     "intranode notifydispatch notifycombine cachednotify getdispatchlayout cleanlowlatencybuffer "
     "hybridep epdispatch epcombine allreduce allgather reducescatter alltoall"},
    // Into the cache of keys.
    {"copy", "andcache setmla setkvbuffer appendpagedkvcache"},
    // computedotdoo and convertdq: cuDNN, helpers of its backward kernels. …kvcache, mergestate:
    // FlashInfer. dkdv, bwd…: AOTriton. …kernelstage: SGLang, vLLM. gemmsoftmaxgemm: CK.
    {"attention",
     "flash fmha attn attention mha sdpa mla withkvcache withpagedkvcache withraggedkvcache "
     "mergestate mergestates computedotdoo convertdq mqa gqa dkdv bwdkerneldq bwdpreprocess "
     "fwdkernelstage fwdgroupedkernelstage gemmsoftmaxgemm"},
    // Changes of layout inside of libraries. castmxfp: TransformerEngine.
    {"copy", "nchwtonhwc nhwctonchw batchedtranspose nhwcaddpadding castmxfp"},
    // bn…: cuDNN. ln…: TransformerEngine. computeinternalgradients, compute…fusedparams: PyTorch's
    // group normalization.
    {"normalization",
     "bnfw bnbw batchnorm instancenorm layernorm lnfwd lnbwd gammabeta groupnorm rowwisemoments "
     "rmsnorm computeinternalgradients computefusedparams backwardfusedparams qkrmsnorm "
     "weightnorm"},
    // gcgemm: the complex products of a convolution by Fourier transforms. igemm…: MIOpen.
    {"convolution",
     "gcgemm fft2d fprop dgrad wgrad conv deconv convolve convolution scudnn winograd igemmfwd "
     "igemmbwd igemmwrw im2col col2im im2d2col vol2col col2vol"},
    {"recurrent", "rnn rnncell lstm gru"},
    // cijk: hipBLASLt and Tensile. nvjet: cuBLAS on Hopper and later. cutlass: only kernels that
    // no row above matches. fusedmoe: vLLM's and SGLang's.
    {"matmul",
     "gemm sgemm dgemm hgemm cgemm zgemm igemm gemmk cijk nvjet cutlass gemv gemvx splitk "
     "splitkreduce cublas marlin machete dotkernel fusedmoe matmul mm bmm flatmm "
     "gemvt gemvn kgemm fmoe csrmm spmm"},
    {"linalg", "getrf getrf2 potrf geqrf geqr2 trsm syevj gesvdj orgqr ormqr cholesky"},
    {"elementwise", "rotary rope elementwisekernelwithindex"},
    // computegradweight, krnpartial… and partialsegments: the backward kernels.
    {"embedding", "embedding computegradweight krnpartial krnpartials partialsegments"},
    {"optimizer", "multitensorapply adam adamw optimizer"},
    {"loss", "nllloss crossentropy"},
    {"softmax", "softmax"},
    {"pooling", "pool pooling"},
    {"fft", "fft"},
    {"sort", "sort sorting bitonic topk topp minp mbtopk deviceuniquebykey"},
    {"random", "distributionelementwise dropout philox sampling"},
    {"reduction", "scan"},
    {"index", "index indexing gather scatter masked deviceselect permute1d permute2d"},
    {"copy", "catarraybatchedcopy copykernel fillfunctor convert casttranspose expandinputrows"},
    {"reduction", "reducekernel devicereduce"},
    // …tensor…: MIOpen.
    {"elementwise",
     "elementwise subtensorop optensor tensorgeneric act activation silu gelu relu swiglu geglu "
     "quant quantize dequantize smoothquant"},
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

using Words = std::set<std::string, std::less<>>;

/// The words of a kernel's name, and neighbouring ones of an identifier as one, in lower case:
/// "rms", "norm" and "rmsnorm" of RMSNorm and rms_norm.
struct KernelWords {
  Words own;
  Words of_namespaces;  ///< which tell a class only if no other word does
};

constexpr bool lies(char first, char letter, char last) {
  return first <= letter && letter <= last;
}

/// Returns true if a word begins at a letter or digit: RMS|Norm, gemm|K|reduce, conv|2|d.
bool begins_word(std::string_view name, std::size_t at) {
  const char before = at == 0 ? ' ' : name[at - 1];
  if (lies('0', name[at], '9')) {
    return !lies('0', before, '9');
  }
  if (lies('a', name[at], 'z')) {
    return !lies('a', before, 'z') && !lies('A', before, 'Z');
  }
  return !lies('A', before, 'Z') || (at + 1 < name.size() && lies('a', name[at + 1], 'z'));
}

KernelWords kernel_words(std::string_view name) {
  KernelWords words;
  std::vector<std::string> parts;  // of the identifier
  for (std::size_t at = 0; at <= name.size(); ++at) {
    const char letter = at < name.size() ? name[at] : ' ';
    if (lies('A', letter, 'Z') || lies('a', letter, 'z') || lies('0', letter, '9')) {
      if (begins_word(name, at)) {
        parts.emplace_back();
      }
      parts.back() += lies('A', letter, 'Z') ? static_cast<char>(letter - 'A' + 'a') : letter;
    } else if (letter != '_') {
      const bool is_namespace = name.substr(std::min(at, name.size())).starts_with("::");
      (is_namespace ? words.of_namespaces : words.own).merge(joined_words(parts));
      parts.clear();
    }
  }
  return words;
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
  thread_local std::map<std::string, std::string_view, std::less<>> known;
  if (const auto found = known.find(kernel); found != known.end()) {
    return found->second;
  }
  const ClassRow* row = nullptr;
  const KernelWords words = kernel_words(kernel);
  for (const auto* of : {&words.own, &words.of_namespaces}) {
    row = row != nullptr
              ? row
              : find_class(kKernelRows, [of](std::string_view part) { return of->contains(part); });
  }
  return known.emplace(kernel, row == nullptr ? "other" : row->name).first->second;
}

bool multiplies_tf32(std::string_view kernel) {
  return kernel.find("tf32f32") != std::string_view::npos ||
         kernel.find("s1688gemm") != std::string_view::npos;
}

}  // namespace understudy::et_schema
