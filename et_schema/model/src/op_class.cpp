#include "et_schema/model/op_class.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/operator_map.h"

namespace understudy::et_schema {
namespace {

constexpr std::array kClasses = std::to_array<std::string_view>(
    {"matmul",  "convolution", "attention",     "normalization", "recurrent", "embedding",
     "pooling", "optimizer",   "loss",          "softmax",       "linalg",    "fft",
     "copy",    "reduction",   "view",          "allocation",    "index",     "random",
     "sort",    "compiled",    "communication", "elementwise"});

using Row = std::pair<std::string_view, std::string_view>;

/// Part of the name → class. The first row that fits decides.
constexpr std::array kRows = std::to_array<Row>({
    {"::log_normal", "random"},
    {"copysign", "elementwise"},
    {"conj_physical", "elementwise"},
    {"linalg_vector_norm", "reduction"},
    {"linalg_matrix_norm", "reduction"},
    {"linalg_norm", "reduction"},
    {"frobenius_norm", "reduction"},
    {"nuclear_norm", "linalg"},
    {"_foreach_norm", "optimizer"},
    {"slow_conv", "convolution"},
    {"qconv", "convolution"},
    {"thnn_conv", "convolution"},
    {"attention", "attention"},
    {"convolution", "convolution"},
    {"::conv", "convolution"},
    {"_norm", "normalization"},
    {"embedding", "embedding"},
    {"lookup_function", "embedding"},
    {"Lookup", "embedding"},
    {"lstm", "recurrent"},
    {"gru", "recurrent"},
    {"rnn", "recurrent"},
    {"_fused_adam", "optimizer"},
    {"_fused_sgd", "optimizer"},
    {"_foreach_", "optimizer"},
    {"_loss", "loss"},
    {"cross_entropy", "loss"},
    {"::kl_div", "loss"},
    {"softmax", "softmax"},
    {"pool", "pooling"},
    {"addmm", "matmul"},
    {"::mm", "matmul"},
    {"_mm", "matmul"},
    {"bmm", "matmul"},
    {"matmul", "matmul"},
    {"::linear", "matmul"},
    {"mkldnn_linear", "matmul"},
    {"_linear_pointwise", "matmul"},
    {"qlinear", "matmul"},
    {"addmv", "matmul"},
    {"::mv", "matmul"},
    {"::dot", "matmul"},
    {"::vdot", "matmul"},
    {"_vecdot", "matmul"},
    {"multi_dot", "matmul"},
    {"matrix_power", "matmul"},
    {"einsum", "matmul"},
    {"fftshift", "copy"},
    {"fftfreq", "elementwise"},
    {"fft", "fft"},
    {"::stft", "fft"},
    {"::istft", "fft"},
    {"linalg_diagonal", "view"},
    {"linalg_cross", "elementwise"},
    {"linalg_vander", "elementwise"},
    {"linalg", "linalg"},
    {"cholesky", "linalg"},
    {"triangular_solve", "linalg"},
    {"matrix_exp", "linalg"},
    {"::inverse", "linalg"},
    {"::pinverse", "linalg"},
    {"::det", "linalg"},
    {"::logdet", "linalg"},
    {"::slogdet", "linalg"},
    {"::qr", "linalg"},
    {"::svd", "linalg"},
    {"::_svd_helper", "linalg"},
    {"::geqrf", "linalg"},
    {"::orgqr", "linalg"},
    {"::ormqr", "linalg"},
    {"::lu", "linalg"},
    {"::_lu", "linalg"},
    {"bernoulli", "random"},
    {"dropout", "random"},
    {"::rand", "random"},
    {"::randn", "random"},
    {"::randint", "random"},
    {"::randperm", "random"},
    {"::random", "random"},
    {"::normal", "random"},
    {"normal_", "random"},
    {"uniform_", "random"},
    {"multinomial", "random"},
    {"::exponential", "random"},
    {"::geometric", "random"},
    {"::cauchy", "random"},
    {"::poisson", "random"},
    {"::binomial", "random"},
    {"::_standard_gamma", "random"},
    {"::_sample_dirichlet", "random"},
    {"empty", "allocation"},
    {"::zeros", "allocation"},
    {"::new", "allocation"},
    {"::ones", "allocation"},
    {"::full", "allocation"},
    {"resize_", "allocation"},
    {"copy", "copy"},
    {"::to", "copy"},
    {"clone", "copy"},
    {"contiguous", "copy"},
    {"::cat", "copy"},
    {"chunk_cat", "copy"},
    {"::concat", "copy"},
    {"::concatenate", "copy"},
    {"slice_backward", "copy"},
    {"::select_backward", "copy"},
    {"diagonal_backward", "copy"},
    {"unfold_backward", "copy"},
    {"value_selecting_reduction", "index"},
    {"stack", "copy"},
    {"index", "index"},
    {"::coalesce", "index"},
    {"::_coalesce", "index"},
    {"::sparse_mask", "index"},
    {"gather", "index"},
    {"scatter", "index"},
    {"masked_", "index"},
    {"count_nonzero", "reduction"},
    {"nonzero", "index"},
    {"permute_1D", "index"},
    {"permute_2D", "index"},
    {"sort", "sort"},
    {"topk", "sort"},
    {"kthvalue", "sort"},
    {"median", "sort"},
    {"unique", "sort"},
    {"::sum", "reduction"},
    {"::mean", "reduction"},
    {"::max", "reduction"},
    {"::min", "reduction"},
    {"::argmax", "reduction"},
    {"::argmin", "reduction"},
    {"::var", "reduction"},
    {"::std", "reduction"},
    {"cumsum", "reduction"},
    {"cumprod", "reduction"},
    {"cummax", "reduction"},
    {"cummin", "reduction"},
    {"logcumsumexp", "reduction"},
    {"segment_reduce", "reduction"},
    {"::prod", "reduction"},
    {"::norm", "reduction"},
    {"::amax", "reduction"},
    {"::amin", "reduction"},
    {"::aminmax", "reduction"},
    {"::nansum", "reduction"},
    {"::logsumexp", "reduction"},
    {"::any", "reduction"},
    {"::all", "reduction"},
    {"view", "view"},
    {"as_strided", "view"},
    {"::t", "view"},
    {"transpose", "view"},
    {"permute", "view"},
    {"expand", "view"},
    {"reshape", "view"},
    {"squeeze", "view"},
    {"slice", "view"},
    {"select", "view"},
    {"narrow", "view"},
    {"split", "view"},
    {"chunk", "view"},
    {"unbind", "view"},
    {"flatten", "view"},
    {"detach", "view"},
    {"alias", "view"},
    {"lift_fresh", "view"},
    {"::broadcast_tensors", "view"},
    {"::numpy_T", "view"},
    {"::resolve_conj", "view"},
    {"::_conj", "view"},
    {"::conj", "view"},
    {"::diagonal", "view"},
    {"::imag", "view"},
    {"::mH", "view"},
    {"::mT", "view"},
    {"::adjoint", "view"},
    {"::matrix_H", "view"},
    {"::movedim", "view"},
    {"::moveaxis", "view"},
    {"::real", "view"},
    {"::swapaxes", "view"},
    {"::swapdims", "view"},
    {"::unfold", "view"},
    {"::resolve_neg", "view"},
    {"::_indices", "view"},
    {"::_values", "view"},
    {"::_sparse_coo_tensor_unsafe", "view"},
});

/// Rows that begin with "::" speak of the whole name behind the namespace, or of its beginning
/// where more follows behind an underscore, a digit or a dot ("::t" is no "tanh").
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

/// Kernels that inductor made, and the graphs that hold them.
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
    // What is no operator and no communication is a hand-written kernel.
    return kind_of_recorded_name(op) ? "communication" : "compiled";
  }
  if (!op.starts_with("aten::")) {
    const MapRow* const mapped = operator_map().find_name(op);
    op = mapped != nullptr && !mapped->like.empty() ? mapped->like : op;
  }
  const auto* const row = std::find_if(
      kRows.begin(), kRows.end(), [&](const Row& candidate) { return fits(op, candidate.first); });
  return row == kRows.end() ? "elementwise" : row->second;
}

}  // namespace understudy::et_schema
