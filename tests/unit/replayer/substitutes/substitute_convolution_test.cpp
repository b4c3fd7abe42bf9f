// Convolutions of cuDNN, MIOpen and oneDNN, against the CPU's convolution and autograd.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "substitute_call.h"

namespace understudy::replayer {
namespace {

using torch::jit::Stack;

c10::IValue list(std::vector<std::int64_t> values) {
  return c10::IValue(std::move(values));
}

const std::string kTail =
    "int[] padding, int[] stride, int[] dilation, int groups, bool benchmark, bool deterministic, "
    "bool allow_tf32";

struct Data {
  at::Tensor input = at::randn({2, 4, 7, 6});
  at::Tensor weight = at::randn({6, 2, 3, 3});
  at::Tensor bias = at::randn({6});
  at::Tensor expected = at::conv2d(input, weight, {}, {2, 1}, {1, 0}, {1, 2}, 2);
  at::Tensor grad_output = at::randn_like(expected);

  [[nodiscard]] std::vector<at::Tensor> gradients() const {
    return autograd_gradients(
        [](const std::vector<at::Tensor>& in) {
          return at::conv2d(in[0], in[1], in[2], {2, 1}, {1, 0}, {1, 2}, 2);
        },
        {input, weight, bias}, grad_output);
  }
};

Stack with_geometry(Stack first, const Stack& last = {}) {
  for (const c10::IValue& value : {list({1, 0}), list({2, 1}), list({1, 2}), c10::IValue(2),
                                   c10::IValue(false), c10::IValue(false), c10::IValue(false)}) {
    first.push_back(value);
  }
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

TEST(SubstituteConvolution, Forward) {
  const Data data;
  expect_close(call_substitute(
                   "aten::cudnn_convolution(Tensor self, Tensor weight, " + kTail + ") -> Tensor",
                   with_geometry({data.input, data.weight}))
                   .at(0),
               data.expected, 1e-4);
  const at::Tensor with_bias = data.expected + data.bias.view({1, 6, 1, 1});
  // cuDNN's own bias, before release 1.5.
  expect_close(call_substitute("aten::cudnn_convolution(Tensor self, Tensor weight, Tensor? bias, "
                               "int[] padding, int[] stride, int[] dilation, int groups, bool "
                               "benchmark, bool deterministic) -> Tensor",
                               {data.input, data.weight, data.bias, list({1, 0}), list({2, 1}),
                                list({1, 2}), 2, false, false})
                   .at(0),
               with_bias, 1e-4);
  for (const std::string name : {"miopen_convolution", "miopen_depthwise_convolution"}) {
    expect_close(call_substitute("aten::" + name +
                                     "(Tensor self, Tensor weight, Tensor? bias, int[] padding, "
                                     "int[] stride, int[] dilation, int groups, bool benchmark, "
                                     "bool deterministic) -> Tensor",
                                 {data.input, data.weight, data.bias, list({1, 0}), list({2, 1}),
                                  list({1, 2}), 2, false, false})
                     .at(0),
                 with_bias, 1e-4);
  }
  expect_close(call_substitute("aten::mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, "
                               "int[] padding, int[] stride, int[] dilation, int groups) -> Tensor",
                               {data.input, data.weight, c10::IValue(), list({1, 0}), list({2, 1}),
                                list({1, 2}), 2})
                   .at(0),
               data.expected, 1e-4);
}

TEST(SubstituteConvolution, FusedForward) {
  const Data data;
  const at::Tensor sum = data.expected + data.bias.view({1, 6, 1, 1});
  expect_close(
      call_substitute(
          "aten::cudnn_convolution_relu(Tensor self, Tensor weight, Tensor? bias, "
          "int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
          {data.input, data.weight, data.bias, list({2, 1}), list({1, 0}), list({1, 2}), 2})
          .at(0),
      at::relu(sum), 1e-4);
  const at::Tensor added = at::randn_like(sum);
  expect_close(
      call_substitute("aten::cudnn_convolution_add_relu(Tensor self, Tensor weight, Tensor z, "
                      "Scalar? alpha, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
                      "int groups) -> Tensor",
                      {data.input, data.weight, added, 0.5, data.bias, list({2, 1}), list({1, 0}),
                       list({1, 2}), 2})
          .at(0),
      at::relu(sum + 0.5 * added), 1e-4);
}

TEST(SubstituteConvolution, Transposed) {
  const at::Tensor input = at::randn({2, 6, 5, 5});
  const at::Tensor weight = at::randn({6, 2, 3, 3});
  const auto expected = [](const std::vector<at::Tensor>& in) {
    return at::conv_transpose2d(in[0], in[1], {}, {2, 2}, {1, 1}, {1, 0}, 2);
  };
  const at::Tensor output = expected({input, weight});
  const std::string middle =
      "int[] padding, int[] output_padding, int[] stride, int[] dilation, int groups, bool "
      "benchmark, bool deterministic";
  const Stack geometry{list({1, 1}), list({1, 0}), list({2, 2}), list({1, 1}), 2, false, false};
  const auto arguments = [&](Stack first, const Stack& last) {
    first.insert(first.end(), geometry.begin(), geometry.end());
    first.insert(first.end(), last.begin(), last.end());
    return first;
  };
  expect_close(call_substitute("aten::cudnn_convolution_transpose(Tensor self, Tensor weight, " +
                                   middle + ", bool allow_tf32) -> Tensor",
                               arguments({input, weight}, {false}))
                   .at(0),
               output, 1e-4);
  expect_close(call_substitute("aten::miopen_convolution_transpose(Tensor self, Tensor weight, "
                               "Tensor? bias, " +
                                   middle + ") -> Tensor",
                               arguments({input, weight, c10::IValue()}, {}))
                   .at(0),
               output, 1e-4);

  const at::Tensor grad_output = at::randn_like(output);
  const std::vector<at::Tensor> gradients =
      autograd_gradients(expected, {input, weight}, grad_output);
  const Stack cudnn = call_substitute(
      "aten::cudnn_convolution_transpose_backward(Tensor self, Tensor grad_output, Tensor "
      "weight, " +
          middle + ", bool allow_tf32, bool[2] output_mask) -> (Tensor, Tensor)",
      arguments({input, grad_output, weight}, {false, c10::List<bool>({true, true})}));
  ASSERT_EQ(cudnn.size(), 2U);
  expect_close(cudnn[0], gradients[0], 1e-4);
  expect_close(cudnn[1], gradients[1], 1e-4);
  const Stack miopen = call_substitute(
      "aten::miopen_convolution_transpose_backward(Tensor self, Tensor grad_output, Tensor "
      "weight, " +
          middle + ", bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      arguments({input, grad_output, weight}, {c10::List<bool>({false, true, true})}));
  ASSERT_EQ(miopen.size(), 3U);
  EXPECT_FALSE(miopen[0].toTensor().defined());
  expect_close(miopen[1], gradients[1], 1e-4);
  expect_close(miopen[2], grad_output.sum({0, 2, 3}), 1e-4);
}

TEST(SubstituteConvolution, Backward) {
  const Data data;
  const std::vector<at::Tensor> gradients = data.gradients();
  const Stack cudnn = call_substitute(
      "aten::cudnn_convolution_backward(Tensor self, Tensor grad_output, Tensor weight, " + kTail +
          ", bool[2] output_mask) -> (Tensor, Tensor)",
      with_geometry({data.input, data.grad_output, data.weight}, {c10::List<bool>({true, true})}));
  ASSERT_EQ(cudnn.size(), 2U);
  expect_close(cudnn[0], gradients[0], 1e-4);
  expect_close(cudnn[1], gradients[1], 1e-4);

  for (const std::string name :
       {"miopen_convolution_backward", "miopen_depthwise_convolution_backward"}) {
    const Stack miopen = call_substitute(
        "aten::" + name +
            "(Tensor self, Tensor grad_output, Tensor weight, int[] padding, int[] stride, int[] "
            "dilation, int groups, bool benchmark, bool deterministic, bool[3] output_mask) -> "
            "(Tensor, Tensor, Tensor)",
        {data.input, data.grad_output, data.weight, list({1, 0}), list({2, 1}), list({1, 2}), 2,
         false, false, c10::List<bool>({true, true, true})});
    ASSERT_EQ(miopen.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      expect_close(miopen[i], gradients[i], 1e-4);
    }
  }
  const Stack mkldnn = call_substitute(
      "aten::mkldnn_convolution_backward(Tensor self, Tensor grad_output, Tensor weight, int[] "
      "padding, int[] stride, int[] dilation, int groups, bool[3] output_mask) -> (Tensor, Tensor, "
      "Tensor)",
      {data.input, data.grad_output, data.weight, list({1, 0}), list({2, 1}), list({1, 2}), 2,
       c10::List<bool>({false, true, false})});
  EXPECT_FALSE(mkldnn[0].toTensor().defined());
  expect_close(mkldnn[1], gradients[1], 1e-4);
  EXPECT_FALSE(mkldnn[2].toTensor().defined());

  expect_close(call_substitute(
                   "aten::cudnn_convolution_backward_input(int[] self_size, Tensor "
                   "grad_output, Tensor weight, " +
                       kTail + ") -> Tensor",
                   with_geometry({list(data.input.sizes().vec()), data.grad_output, data.weight}))
                   .at(0),
               gradients[0], 1e-4);
  expect_close(call_substitute(
                   "aten::cudnn_convolution_backward_weight(int[] weight_size, Tensor "
                   "grad_output, Tensor self, " +
                       kTail + ") -> Tensor",
                   with_geometry({list(data.weight.sizes().vec()), data.grad_output, data.input}))
                   .at(0),
               gradients[1], 1e-4);
}

TEST(SubstituteConvolution, Depthwise) {
  const at::Tensor input = at::randn({2, 4, 6, 6});
  const at::Tensor weight = at::randn({8, 1, 3, 3});
  expect_close(call_substitute("aten::_conv_depthwise2d(Tensor self, Tensor weight, int[2] "
                               "kernel_size, Tensor? bias, int[2] stride, int[2] padding, int[2] "
                               "dilation) -> Tensor",
                               {input, weight, list({3, 3}), c10::IValue(), list({1, 1}),
                                list({1, 1}), list({1, 1})})
                   .at(0),
               at::conv2d(input, weight, {}, {1, 1}, {1, 1}, {1, 1}, 4), 1e-4);
  const at::Tensor volume = at::randn({1, 3, 4, 5, 6});
  const at::Tensor kernel = at::randn({3, 1, 2, 2, 2});
  expect_close(call_substitute("aten::conv_depthwise3d(Tensor self, Tensor weight, int[3] "
                               "kernel_size, Tensor? bias, int[3] stride, int[3] padding, int[3] "
                               "dilation) -> Tensor",
                               {volume, kernel, list({2, 2, 2}), c10::IValue(), list({1, 1, 1}),
                                list({0, 0, 0}), list({1, 1, 1})})
                   .at(0),
               at::conv3d(volume, kernel, {}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 3), 1e-4);
}

}  // namespace
}  // namespace understudy::replayer
