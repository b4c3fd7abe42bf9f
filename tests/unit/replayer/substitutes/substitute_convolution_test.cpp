// Convolutions of cuDNN, MIOpen and oneDNN, against the CPU's convolution.
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
};

TEST(SubstituteConvolution, Forward) {
  const Data data;
  expect_close(call_substitute(
                   "aten::cudnn_convolution(Tensor self, Tensor weight, " + kTail + ") -> Tensor",
                   {data.input, data.weight, list({1, 0}), list({2, 1}), list({1, 2}), 2, false,
                    false, false})
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

TEST(SubstituteConvolution, Transposed) {
  const at::Tensor input = at::randn({2, 6, 5, 5});
  const at::Tensor weight = at::randn({6, 2, 3, 3});
  const at::Tensor output = at::conv_transpose2d(input, weight, {}, {2, 2}, {1, 1}, {1, 0}, 2);
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
