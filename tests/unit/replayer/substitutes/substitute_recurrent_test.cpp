// Fused LSTM and GRU cells of the GPU, against the CPU's cells and autograd.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "substitute_call.h"

namespace understudy::replayer {
namespace {

using torch::jit::Stack;

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kHidden = 4;

/// Gates and biases of a cell with `count` gates; identities turn the cell of PyTorch into one over
/// gates.
struct Cell {
  explicit Cell(std::int64_t count)
      : input_gates(at::randn({kBatch, count * kHidden})),
        hidden_gates(at::randn({kBatch, count * kHidden})),
        input_bias(at::randn({count * kHidden})),
        hidden_bias(at::randn({count * kHidden})),
        state(at::randn({kBatch, kHidden})),
        grad(at::randn({kBatch, kHidden})) {}
  at::Tensor input_gates;
  at::Tensor hidden_gates;
  at::Tensor input_bias;
  at::Tensor hidden_bias;
  at::Tensor state;
  at::Tensor grad;
};

struct LstmOutput {
  at::Tensor hy;
  at::Tensor cy;
};

LstmOutput lstm(const at::Tensor& gates, const at::Tensor& cx) {
  const std::vector<at::Tensor> parts = gates.chunk(4, 1);
  const at::Tensor cy = at::sigmoid(parts[1]) * cx + at::sigmoid(parts[0]) * at::tanh(parts[2]);
  return {at::sigmoid(parts[3]) * at::tanh(cy), cy};
}

const std::string kLstm =
    "aten::_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? "
    "input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)";
const std::string kLstmBackwardArguments =
    "(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy, Tensor workspace, bool has_bias) -> ";

TEST(SubstituteRecurrent, LstmCellAndItsBackward) {
  const Cell cell(4);
  const Stack forward = call_substitute(
      kLstm, {cell.input_gates, cell.hidden_gates, cell.state, cell.input_bias, cell.hidden_bias});
  const at::Tensor gates =
      cell.input_gates + cell.hidden_gates + cell.input_bias + cell.hidden_bias;
  const LstmOutput expected = lstm(gates, cell.state);
  expect_close(forward.at(0), expected.hy);
  expect_close(forward.at(1), expected.cy);
  ASSERT_EQ(forward.at(2).toTensor().sizes(), gates.sizes());

  const std::vector<at::Tensor> gradients = autograd_gradients(
      [](const std::vector<at::Tensor>& in) {
        const LstmOutput output = lstm(in[0] + in[2], in[1]);
        return output.hy + 2 * output.cy;
      },
      {gates, cell.state, at::zeros_like(cell.input_bias)}, cell.grad);
  const Stack arguments{cell.grad, 2 * cell.grad, cell.state, forward[1], forward[2], true};
  const Stack impl = call_substitute("aten::_thnn_fused_lstm_cell_backward_impl" +
                                         kLstmBackwardArguments + "(Tensor, Tensor, Tensor)",
                                     arguments);
  ASSERT_EQ(impl.size(), 3U);
  expect_close(impl[0], gradients[0], 1e-4);
  expect_close(impl[1], gradients[1], 1e-4);
  expect_close(impl[2], gradients[2], 1e-4);
  const Stack whole =
      call_substitute("aten::_thnn_fused_lstm_cell_backward" + kLstmBackwardArguments +
                          "(Tensor, Tensor, Tensor, Tensor, Tensor)",
                      arguments);
  ASSERT_EQ(whole.size(), 5U);
  for (const std::size_t i : {0U, 1U}) {
    expect_close(whole[i], gradients[0], 1e-4);
    expect_close(whole[i + 3], gradients[2], 1e-4);
  }
  expect_close(whole[2], gradients[1], 1e-4);
}

TEST(SubstituteRecurrent, LstmBackwardOfOneOutput) {
  const Cell cell(4);
  const Stack forward = call_substitute(
      kLstm, {cell.input_gates, cell.hidden_gates, cell.state, c10::IValue(), c10::IValue()});
  const at::Tensor gates = cell.input_gates + cell.hidden_gates;
  for (const bool hidden : {true, false}) {
    const std::vector<at::Tensor> gradients = autograd_gradients(
        [&](const std::vector<at::Tensor>& in) {
          const LstmOutput output = lstm(in[0], in[1]);
          return hidden ? output.hy : output.cy;
        },
        {gates, cell.state}, cell.grad);
    const c10::IValue none;
    const Stack result = call_substitute(
        "aten::_thnn_fused_lstm_cell_backward_impl" + kLstmBackwardArguments +
            "(Tensor, Tensor, Tensor)",
        {hidden ? c10::IValue(cell.grad) : none, hidden ? none : c10::IValue(cell.grad), cell.state,
         forward.at(1), forward.at(2), false});
    expect_close(result.at(0), gradients[0], 1e-4);
    expect_close(result.at(1), gradients[1], 1e-4);
    EXPECT_FALSE(result.at(2).toTensor().defined());
  }
}

TEST(SubstituteRecurrent, GruCellAndItsBackward) {
  const Cell cell(3);
  const Stack forward = call_substitute(
      "aten::_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? "
      "input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor)",
      {cell.input_gates, cell.hidden_gates, cell.state, cell.input_bias, cell.hidden_bias});
  const auto gru = [](const std::vector<at::Tensor>& in) {
    const std::vector<at::Tensor> input = (in[0] + in[3]).chunk(3, 1);
    const std::vector<at::Tensor> hidden = (in[1] + in[4]).chunk(3, 1);
    const at::Tensor reset = at::sigmoid(input[0] + hidden[0]);
    const at::Tensor update = at::sigmoid(input[1] + hidden[1]);
    const at::Tensor fresh = at::tanh(input[2] + reset * hidden[2]);
    return (1 - update) * fresh + update * in[2];
  };
  const std::vector<at::Tensor> inputs{cell.input_gates, cell.hidden_gates, cell.state,
                                       cell.input_bias, cell.hidden_bias};
  expect_close(forward.at(0), gru(inputs));
  const std::vector<at::Tensor> gradients = autograd_gradients(gru, inputs, cell.grad);
  const Stack result = call_substitute(
      "aten::_thnn_fused_gru_cell_backward(Tensor grad_hy, Tensor workspace, bool has_bias) -> "
      "(Tensor, Tensor, Tensor, Tensor, Tensor)",
      {cell.grad, forward.at(1), true});
  ASSERT_EQ(result.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    expect_close(result[i], gradients[i], 1e-4);
  }
}

}  // namespace
}  // namespace understudy::replayer
