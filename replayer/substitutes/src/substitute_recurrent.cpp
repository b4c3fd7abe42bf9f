#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "substitute_table.h"

namespace understudy::replayer {
namespace {

using Results = std::vector<c10::IValue>;

/// The gates with what biases there are.
at::Tensor with_bias(at::Tensor gates, const at::Tensor& bias) {
  return bias.defined() ? gates + bias : std::move(gates);
}

/// The workspace holds the activated gates in the order input, forget, cell, output.
Results lstm_cell(Inputs& in, const Fillers&) {
  const at::Tensor input_gates = in.tensor();
  const at::Tensor hidden_gates = in.tensor();
  const at::Tensor cx = in.tensor();
  const at::Tensor input_bias = in.tensor();
  const at::Tensor hidden_bias = in.tensor();
  const at::Tensor sum = with_bias(with_bias(input_gates + hidden_gates, input_bias), hidden_bias);
  const std::vector<at::Tensor> gates = sum.chunk(4, 1);
  const at::Tensor input = at::sigmoid(gates[0]);
  const at::Tensor forget = at::sigmoid(gates[1]);
  const at::Tensor cell = at::tanh(gates[2]);
  const at::Tensor output = at::sigmoid(gates[3]);
  const at::Tensor cy = forget * cx + input * cell;
  return {output * at::tanh(cy), cy, at::cat({input, forget, cell, output}, 1)};
}

struct LstmGradients {
  at::Tensor gates;
  at::Tensor cx;
  at::Tensor bias;  ///< undefined without biases
};

LstmGradients lstm_gradients(Inputs& in) {
  const at::Tensor grad_hy = in.tensor();
  const at::Tensor grad_cy = in.tensor();
  const at::Tensor cx = in.tensor();
  const at::Tensor cy = in.tensor();
  const std::vector<at::Tensor> gates = in.tensor().chunk(4, 1);
  const bool has_bias = in.flag();
  const at::Tensor& input = gates[0];
  const at::Tensor& forget = gates[1];
  const at::Tensor& cell = gates[2];
  const at::Tensor& output = gates[3];
  const at::Tensor squashed = at::tanh(cy);
  at::Tensor grad_cell = grad_cy;
  at::Tensor grad_output = at::zeros_like(output);
  if (grad_hy.defined()) {
    const at::Tensor through = grad_hy * output * (1 - squashed.square());
    grad_cell = grad_cy.defined() ? grad_cy + through : through;
    grad_output = grad_hy * squashed * output * (1 - output);
  }
  TORCH_CHECK(grad_cell.defined(), "neither grad_hy nor grad_cy is defined");
  at::Tensor grad_gates =
      at::cat({grad_cell * cell * input * (1 - input), grad_cell * cx * forget * (1 - forget),
               grad_cell * input * (1 - cell.square()), grad_output},
              1);
  at::Tensor grad_bias = has_bias ? grad_gates.sum(0) : at::Tensor();
  return {std::move(grad_gates), grad_cell * forget, std::move(grad_bias)};
}

Results lstm_cell_backward_impl(Inputs& in, const Fillers&) {
  LstmGradients gradients = lstm_gradients(in);
  return {std::move(gradients.gates), std::move(gradients.cx), std::move(gradients.bias)};
}

Results lstm_cell_backward(Inputs& in, const Fillers&) {
  const LstmGradients gradients = lstm_gradients(in);
  return {gradients.gates, gradients.gates, gradients.cx, gradients.bias, gradients.bias};
}

/// The workspace holds reset, update and new gate, the old state, and the new gate's hidden part.
Results gru_cell(Inputs& in, const Fillers&) {
  const at::Tensor input_gates = in.tensor();
  const at::Tensor hidden_gates = in.tensor();
  const at::Tensor hx = in.tensor();
  const at::Tensor input_bias = in.tensor();
  const at::Tensor hidden_bias = in.tensor();
  const std::vector<at::Tensor> input = with_bias(input_gates, input_bias).chunk(3, 1);
  const std::vector<at::Tensor> hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const at::Tensor reset = at::sigmoid(input[0] + hidden[0]);
  const at::Tensor update = at::sigmoid(input[1] + hidden[1]);
  const at::Tensor fresh = at::tanh(input[2] + reset * hidden[2]);
  return {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

Results gru_cell_backward(Inputs& in, const Fillers&) {
  const at::Tensor grad_hy = in.tensor();
  const std::vector<at::Tensor> saved = in.tensor().chunk(5, 1);
  const bool has_bias = in.flag();
  const at::Tensor& reset = saved[0];
  const at::Tensor& update = saved[1];
  const at::Tensor& fresh = saved[2];
  const at::Tensor& hx = saved[3];
  const at::Tensor& hidden = saved[4];
  const at::Tensor grad_update = grad_hy * (hx - fresh) * (1 - update) * update;
  const at::Tensor grad_fresh = grad_hy * (1 - update) * (1 - fresh.square());
  const at::Tensor grad_reset = grad_fresh * hidden * (1 - reset) * reset;
  const at::Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const at::Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  return {grad_input, grad_hidden, grad_hy * update, has_bias ? grad_input.sum(0) : at::Tensor(),
          has_bias ? grad_hidden.sum(0) : at::Tensor()};
}

constexpr std::string_view kBy = "aten::sigmoid, aten::tanh, aten::cat and pointwise operators";
constexpr std::string_view kCell = "input_gates hidden_gates cx|hx input_bias? hidden_bias?";
constexpr std::string_view kLstmBackward = "grad_hy? grad_cy? cx cy workspace has_bias";

constexpr SubstituteRow kRows[] = {
    {"aten::_thnn_fused_lstm_cell", kBy, kCell, lstm_cell},
    {"aten::_thnn_fused_lstm_cell_backward", kBy, kLstmBackward, lstm_cell_backward},
    {"aten::_thnn_fused_lstm_cell_backward_impl", kBy, kLstmBackward, lstm_cell_backward_impl},
    {"aten::_thnn_fused_gru_cell", kBy, kCell, gru_cell},
    {"aten::_thnn_fused_gru_cell_backward", kBy, "grad_hy workspace has_bias", gru_cell_backward},
};

}  // namespace

std::span<const SubstituteRow> recurrent_rows() {
  return kRows;
}

}  // namespace understudy::replayer
