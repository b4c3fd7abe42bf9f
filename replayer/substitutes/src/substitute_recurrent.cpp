#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "substitute_table.h"

namespace understudy::replayer {
namespace {

/// Adds the bias, if there is one.
Tensor with_bias(Tensor gates, const Tensor& bias) {
  return bias.defined() ? gates + bias : std::move(gates);
}

/// The workspace holds the activated gates in the order input, forget, cell, output.
Results lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                  const Tensor& input_bias, const Tensor& hidden_bias) {
  const Tensor sum = with_bias(with_bias(input_gates + hidden_gates, input_bias), hidden_bias);
  const std::vector<Tensor> gates = sum.chunk(4, 1);
  const Tensor input = at::sigmoid(gates[0]);
  const Tensor forget = at::sigmoid(gates[1]);
  const Tensor cell = at::tanh(gates[2]);
  const Tensor output = at::sigmoid(gates[3]);
  const Tensor cy = forget * cx + input * cell;
  return {output * at::tanh(cy), cy, at::cat({input, forget, cell, output}, 1)};
}

/// Substitute of aten::_thnn_fused_lstm_cell_backward_impl. If `kForBoth`, of
/// _thnn_fused_lstm_cell_backward: it returns the gates' gradient for the input and for the hidden
/// state, which are equal, and likewise the biases'.
template <bool kForBoth>
Results lstm_cell_backward(const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx,
                           const Tensor& cy, const Tensor& workspace, bool has_bias) {
  const std::vector<Tensor> gates = workspace.chunk(4, 1);
  const Tensor& input = gates[0];
  const Tensor& forget = gates[1];
  const Tensor& cell = gates[2];
  const Tensor& output = gates[3];
  const Tensor squashed = at::tanh(cy);
  Tensor grad_cell = grad_cy;
  Tensor grad_output = at::zeros_like(output);
  if (grad_hy.defined()) {
    const Tensor through = grad_hy * output * (1 - squashed.square());
    grad_cell = grad_cy.defined() ? grad_cy + through : through;
    grad_output = grad_hy * squashed * output * (1 - output);
  }
  TORCH_CHECK(grad_cell.defined(), "neither grad_hy nor grad_cy is defined");
  const Tensor grad_gates =
      at::cat({grad_cell * cell * input * (1 - input), grad_cell * cx * forget * (1 - forget),
               grad_cell * input * (1 - cell.square()), grad_output},
              1);
  const Tensor grad_cx = grad_cell * forget;
  const Tensor grad_bias = has_bias ? grad_gates.sum(0) : Tensor();
  return kForBoth ? Results{grad_gates, grad_gates, grad_cx, grad_bias, grad_bias}
                  : Results{grad_gates, grad_cx, grad_bias};
}

/// The workspace holds reset, update and new gate, the old state, and the new gate's hidden part.
Results gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                 const Tensor& input_bias, const Tensor& hidden_bias) {
  const std::vector<Tensor> input = with_bias(input_gates, input_bias).chunk(3, 1);
  const std::vector<Tensor> hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const Tensor reset = at::sigmoid(input[0] + hidden[0]);
  const Tensor update = at::sigmoid(input[1] + hidden[1]);
  const Tensor fresh = at::tanh(input[2] + reset * hidden[2]);
  return {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

Results gru_cell_backward(const Tensor& grad_hy, const Tensor& workspace, bool has_bias) {
  const std::vector<Tensor> saved = workspace.chunk(5, 1);
  const Tensor& reset = saved[0];
  const Tensor& update = saved[1];
  const Tensor& fresh = saved[2];
  const Tensor& hx = saved[3];
  const Tensor& hidden = saved[4];
  const Tensor grad_update = grad_hy * (hx - fresh) * (1 - update) * update;
  const Tensor grad_fresh = grad_hy * (1 - update) * (1 - fresh.square());
  const Tensor grad_reset = grad_fresh * hidden * (1 - reset) * reset;
  const Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  return {grad_input, grad_hidden, grad_hy * update, has_bias ? grad_input.sum(0) : Tensor(),
          has_bias ? grad_hidden.sum(0) : Tensor()};
}

constexpr std::string_view kBy = "aten::sigmoid, aten::tanh, aten::cat and pointwise operators";
constexpr std::string_view kCell = "input_gates hidden_gates cx|hx input_bias? hidden_bias?";
constexpr std::string_view kLstmBackward = "grad_hy? grad_cy? cx cy workspace has_bias";

constexpr SubstituteRow kRows[] = {
    {"aten::_thnn_fused_lstm_cell", kBy, kCell, unpacked<lstm_cell>},
    {"aten::_thnn_fused_lstm_cell_backward", kBy, kLstmBackward,
     unpacked<lstm_cell_backward<true>>},
    {"aten::_thnn_fused_lstm_cell_backward_impl", kBy, kLstmBackward,
     unpacked<lstm_cell_backward<false>>},
    {"aten::_thnn_fused_gru_cell", kBy, kCell, unpacked<gru_cell>},
    {"aten::_thnn_fused_gru_cell_backward", kBy, "grad_hy workspace has_bias",
     unpacked<gru_cell_backward>},
};

}  // namespace

std::span<const SubstituteRow> recurrent_rows() {
  return kRows;
}

}  // namespace understudy::replayer
