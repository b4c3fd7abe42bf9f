// cuDNN's recurrent networks, against the CPU's and autograd.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "substitute_call.h"

namespace understudy::replayer {
namespace {

using et_schema::DType;
using torch::jit::Stack;

constexpr std::int64_t kLength = 5;
constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kInputs = 4;
constexpr std::int64_t kHidden = 6;
constexpr std::int64_t kLayers = 2;
constexpr std::int64_t kLstm = 2;
constexpr std::int64_t kGru = 3;

const std::string kForward =
    "aten::_cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, "
    "Tensor "
    "hx, Tensor? cx, int mode, SymInt hidden_size, SymInt proj_size, int num_layers, bool "
    "batch_first, float dropout, bool train, bool bidirectional, SymInt[] batch_sizes, Tensor? "
    "dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)";
const std::string kBackward =
    "aten::_cudnn_rnn_backward(Tensor input, Tensor[] weight, int weight_stride0, Tensor "
    "weight_buf, Tensor hx, Tensor? cx, Tensor output, Tensor? grad_output, Tensor? grad_hy, "
    "Tensor? grad_cy, int mode, SymInt hidden_size, SymInt proj_size, int num_layers, bool "
    "batch_first, float dropout, bool train, bool bidirectional, SymInt[] batch_sizes, Tensor? "
    "dropout_state, Tensor reserve, bool[4] output_mask) -> (Tensor, Tensor, Tensor, Tensor[])";

struct Network {
  explicit Network(std::int64_t gates) {
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      weights.push_back(at::randn({gates * kHidden, layer == 0 ? kInputs : kHidden}) * 0.3);
      weights.push_back(at::randn({gates * kHidden, kHidden}) * 0.3);
      weights.push_back(at::randn({gates * kHidden}));
      weights.push_back(at::randn({gates * kHidden}));
    }
  }
  at::Tensor input = at::randn({kLength, kBatch, kInputs});
  at::Tensor hx = at::randn({kLayers, kBatch, kHidden});
  at::Tensor cx = at::randn({kLayers, kBatch, kHidden});
  std::vector<at::Tensor> weights;
  c10::IValue none;

  [[nodiscard]] Stack forward_arguments(std::int64_t mode) const {
    return {input,
            c10::List<at::Tensor>(weights),
            4,
            none,
            hx,
            mode == kLstm ? c10::IValue(cx) : none,
            mode,
            kHidden,
            0,
            kLayers,
            false,
            0.0,
            true,
            false,
            std::vector<std::int64_t>{},
            none};
  }
};

TEST(SubstituteCudnnRnn, LstmForwardAndBackward) {
  const Network net(4);
  const et_schema::Slot reserve = layout_of({99}, DType::kUInt8);
  const Stack forward = call_substitute(kForward, net.forward_arguments(kLstm),
                                        {nullptr, nullptr, nullptr, &reserve, nullptr});
  const auto expected = [](const std::vector<at::Tensor>& in) {
    const std::vector<at::Tensor> weights(in.begin() + 3, in.end());
    return at::lstm(in[0], {in[1], in[2]}, weights, true, kLayers, 0.0, true, false, false);
  };
  std::vector<at::Tensor> inputs{net.input, net.hx, net.cx};
  inputs.insert(inputs.end(), net.weights.begin(), net.weights.end());
  const auto [output, hy, cy] = expected(inputs);
  ASSERT_EQ(forward.size(), 5U);
  expect_close(forward[0], output);
  expect_close(forward[1], hy);
  expect_close(forward[2], cy);
  EXPECT_EQ(forward[3].toTensor().numel(), 99);

  const at::Tensor grad_output = at::randn_like(output);
  const std::vector<at::Tensor> gradients = autograd_gradients(
      [&](const std::vector<at::Tensor>& in) { return std::get<0>(expected(in)); }, inputs,
      grad_output);
  const Stack backward = call_substitute(kBackward, {net.input,
                                                     c10::List<at::Tensor>(net.weights),
                                                     4,
                                                     forward[3],
                                                     net.hx,
                                                     net.cx,
                                                     forward[0],
                                                     grad_output,
                                                     net.none,
                                                     net.none,
                                                     kLstm,
                                                     kHidden,
                                                     0,
                                                     kLayers,
                                                     false,
                                                     0.0,
                                                     true,
                                                     false,
                                                     std::vector<std::int64_t>{},
                                                     net.none,
                                                     forward[3],
                                                     c10::List<bool>({true, true, true, true})});
  ASSERT_EQ(backward.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    expect_close(backward[i], gradients[i], 1e-4);
    EXPECT_FALSE(backward[i].toTensor().requires_grad());
  }
  const c10::List<at::Tensor> weights = backward[3].toTensorList();
  ASSERT_EQ(weights.size(), net.weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    expect_close(weights.get(i), gradients[i + 3], 1e-4);
  }
  EXPECT_EQ(find_substitute(kBackward, c10::kCPU)->rung, Rung::kStubbed)
      << "the forward runs a second time: not the same work";
}

TEST(SubstituteCudnnRnn, OtherModesAndPackedSequences) {
  const Network gru(3);
  const auto [output, hy] =
      at::gru(gru.input, gru.hx, gru.weights, true, kLayers, 0.0, true, false, false);
  const Stack result = call_substitute(kForward, gru.forward_arguments(kGru));
  expect_close(result.at(0), output);
  expect_close(result.at(1), hy);
  EXPECT_FALSE(result.at(2).toTensor().defined());

  const Network plain(1);
  constexpr std::int64_t kRelu = 0;
  constexpr std::int64_t kTanh = 1;
  expect_close(call_substitute(kForward, plain.forward_arguments(kRelu)).at(0),
               std::get<0>(at::rnn_relu(plain.input, plain.hx, plain.weights, true, kLayers, 0.0,
                                        true, false, false)));
  expect_close(call_substitute(kForward, plain.forward_arguments(kTanh)).at(0),
               std::get<0>(at::rnn_tanh(plain.input, plain.hx, plain.weights, true, kLayers, 0.0,
                                        true, false, false)));

  Network lstm(4);
  lstm.input = at::randn({6, kInputs});
  Stack arguments = lstm.forward_arguments(kLstm);
  constexpr std::size_t kBatchSizes = 14;
  arguments[kBatchSizes] = std::vector<std::int64_t>{3, 2, 1};
  expect_close(
      call_substitute(kForward, arguments).at(0),
      std::get<0>(at::lstm(lstm.input, at::tensor({3, 2, 1}, at::kLong), {lstm.hx, lstm.cx},
                           lstm.weights, true, kLayers, 0.0, true, false)));
  EXPECT_THROW(static_cast<void>(call_substitute(kForward, plain.forward_arguments(9))),
               c10::Error);
}

TEST(SubstituteCudnnRnn, FlattenedWeightsHaveTheRecordedSize) {
  const Network net(4);
  const et_schema::Slot layout = layout_of({1000}, DType::kFloat32);
  const at::Tensor flat =
      call_substitute(
          "aten::_cudnn_rnn_flatten_weight(Tensor[] weight_arr, int weight_stride0, "
          "SymInt input_size, int mode, SymInt hidden_size, SymInt proj_size, int "
          "num_layers, bool batch_first, bool bidirectional) -> Tensor",
          {c10::List<at::Tensor>(net.weights), 4, kInputs, kLstm, kHidden, 0, kLayers, false,
           false},
          {&layout})
          .at(0)
          .toTensor();
  std::vector<at::Tensor> parts;
  for (const at::Tensor& weight : net.weights) {
    parts.push_back(weight.flatten());
  }
  const at::Tensor all = at::cat(parts);
  ASSERT_EQ(flat.numel(), 1000);
  EXPECT_TRUE(at::equal(flat.narrow(0, 0, all.numel()), all));
}

}  // namespace
}  // namespace understudy::replayer
