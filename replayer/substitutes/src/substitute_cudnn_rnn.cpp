#include <ATen/ops/cat.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/rnn_relu.h>
#include <ATen/ops/rnn_tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "substitute_attention.h"

namespace understudy::replayer {
namespace {

/// Numbered as in cuDNN.
enum class Mode : std::int64_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

struct Rnn {
  Tensor input;
  std::vector<Tensor> weights;
  bool has_biases = true;
  Tensor hx;
  Tensor cx;
  Mode mode = Mode::kLstm;
  std::int64_t layers = 1;
  bool batch_first = false;
  double dropout = 0;
  bool train = false;
  bool bidirectional = false;
  std::vector<std::int64_t> batch_sizes;  ///< for packed sequences; empty for a padded batch

  [[nodiscard]] static Rnn read(Inputs& in);
};

/// The output, hy, and (for LSTMs) cy.
using RnnOutput = std::array<Tensor, 3>;

constexpr std::string_view kArguments =
    "input weight weight_stride0 hx cx? mode num_layers batch_first dropout train bidirectional "
    "batch_sizes?";

Rnn Rnn::read(Inputs& in) {
  Rnn rnn;
  rnn.input = in.tensor();
  rnn.weights = in.tensors();
  // Each layer and direction has two matrices, a third with a projection, then two biases, if any.
  constexpr std::int64_t kWithBiases = 4;
  rnn.has_biases = in.integer() >= kWithBiases;
  rnn.hx = in.tensor();
  rnn.cx = in.tensor();
  rnn.mode = static_cast<Mode>(in.integer());
  rnn.layers = in.integer();
  rnn.batch_first = in.flag();
  rnn.dropout = in.number();
  rnn.train = in.flag();
  rnn.bidirectional = in.flag();
  rnn.batch_sizes = in.integers();
  return rnn;
}

/// Calls the padded or the packed form of an operator, whose other arguments are the same.
template <typename State, typename Operator>
auto run(const Rnn& rnn, const State& state, Operator&& call) {
  if (rnn.batch_sizes.empty()) {
    return call(rnn.input, state, rnn.weights, rnn.has_biases, rnn.layers, rnn.dropout, rnn.train,
                rnn.bidirectional, rnn.batch_first);
  }
  return call(rnn.input, at::tensor(rnn.batch_sizes, at::kLong), state, rnn.weights, rnn.has_biases,
              rnn.layers, rnn.dropout, rnn.train, rnn.bidirectional);
}

RnnOutput run_rnn(const Rnn& rnn) {
  if (rnn.mode == Mode::kLstm) {
    const std::vector<Tensor> state{rnn.hx, rnn.cx};
    auto [output, hy, cy] = run(rnn, state, [](const auto&... a) { return at::lstm(a...); });
    return {std::move(output), std::move(hy), std::move(cy)};
  }
  std::tuple<Tensor, Tensor> result;
  switch (rnn.mode) {
    case Mode::kGru:
      result = run(rnn, rnn.hx, [](const auto&... a) { return at::gru(a...); });
      break;
    case Mode::kTanh:
      result = run(rnn, rnn.hx, [](const auto&... a) { return at::rnn_tanh(a...); });
      break;
    case Mode::kRelu:
      result = run(rnn, rnn.hx, [](const auto&... a) { return at::rnn_relu(a...); });
      break;
    case Mode::kLstm:
      break;
  }
  TORCH_CHECK(std::get<0>(result).defined(), "mode ", static_cast<std::int64_t>(rnn.mode),
              " is no recurrent network of cuDNN");
  return {std::get<0>(result), std::get<1>(result), Tensor()};
}

Results forward(const Rnn& rnn, const Fillers& fillers) {
  RnnOutput output = run_rnn(rnn);
  constexpr std::size_t kReserve = 3;
  constexpr std::size_t kWeightBuffer = 4;
  const at::Device device = rnn.input.device();
  return {std::move(output[0]), std::move(output[1]), std::move(output[2]),
          fillers.make(kReserve, device), fillers.make(kWeightBuffer, device)};
}

Tensor leaf(const Tensor& tensor) {
  return tensor.defined() ? tensor.detach().requires_grad_(true) : tensor;
}

/// Returns the gradient, or zeros if the outputs do not depend on the tensor.
Tensor gradient_or_zeros(const Tensor& gradient, const Tensor& like) {
  return gradient.defined() || !like.defined() ? gradient : at::zeros(like.sizes(), like.options());
}

/// The CPU saves no equivalent of cuDNN's reserve, so the forward runs again under autograd.
Results backward(Rnn rnn, const Tensor& grad_output, const Tensor& grad_hy, const Tensor& grad_cy) {
  const std::array given{grad_output, grad_hy, grad_cy};
  const c10::impl::ForceDispatchKeyGuard keys(c10::default_included_set, c10::default_excluded_set);
  const c10::AutoGradMode gradients_on(true);
  std::vector<Tensor> leaves{leaf(rnn.input), leaf(rnn.hx), leaf(rnn.cx)};
  rnn.input = leaves[0];
  rnn.hx = leaves[1];
  rnn.cx = leaves[2];
  for (Tensor& weight : rnn.weights) {
    weight = leaf(weight);
    leaves.push_back(weight);
  }
  const RnnOutput all = run_rnn(rnn);
  std::vector<Tensor> outputs;
  std::vector<Tensor> grad_outputs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (given[i].defined() && all[i].defined()) {
      outputs.push_back(all[i]);
      grad_outputs.push_back(given[i]);
    }
  }
  std::vector<Tensor> inputs;
  std::ranges::copy_if(leaves, std::back_inserter(inputs), &Tensor::defined);
  const std::vector<Tensor> found = torch::autograd::grad(
      outputs, inputs, grad_outputs, std::nullopt, /*create_graph=*/false, /*allow_unused=*/true);
  std::vector<Tensor> gradients(leaves.size());
  for (std::size_t i = 0, next = 0; i < leaves.size(); ++i) {
    if (leaves[i].defined()) {
      gradients[i] = gradient_or_zeros(found[next++], leaves[i]);
    }
  }
  const auto weights = gradients.begin() + 3;
  return {gradients[0], gradients[1], gradients[2],
          c10::List<Tensor>(std::vector<Tensor>(weights, gradients.end()))};
}

/// cuDNN's buffer also holds padding, so the weights are cut or padded to the recorded size.
Results flatten_weights(const std::vector<Tensor>& weights, const Fillers& fillers) {
  std::vector<Tensor> flat;
  for (const Tensor& weight : weights) {
    flat.push_back(weight.reshape({-1}));
  }
  return {in_recorded_layout(at::cat(flat), fillers.layout(0))};
}

constexpr std::string_view kBackwardArguments =
    "input weight weight_stride0 hx cx? mode num_layers batch_first dropout train bidirectional "
    "batch_sizes? grad_output? grad_hy? grad_cy?";

constexpr SubstituteRow kRows[] = {
    {"aten::_cudnn_rnn aten::miopen_rnn", "aten::lstm, aten::gru or aten::rnn_*", kArguments,
     unpacked<forward>},
    {"aten::_cudnn_rnn_backward aten::miopen_rnn_backward",
     "aten::lstm, aten::gru or aten::rnn_* again, with autograd", kBackwardArguments,
     unpacked<backward>, Rung::kStubbed},
    {"aten::_cudnn_rnn_flatten_weight", "aten::cat", "weight_arr", unpacked<flatten_weights>},
};

}  // namespace

std::span<const SubstituteRow> cudnn_rnn_rows() {
  return kRows;
}

}  // namespace understudy::replayer
