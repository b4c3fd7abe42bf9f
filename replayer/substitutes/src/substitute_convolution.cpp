#include <ATen/ops/add.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>

#include <array>
#include <utility>

#include "substitute_table.h"

namespace understudy::replayer {
namespace {

using Results = std::vector<c10::IValue>;

struct Geometry {
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> output_padding;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
  std::int64_t groups = 1;
};

Geometry read_geometry(Inputs& in) {
  Geometry geometry;
  geometry.padding = in.integers();
  geometry.output_padding = in.integers();
  geometry.stride = in.integers();
  geometry.dilation = in.integers();
  geometry.groups = in.integer(1);
  return geometry;
}

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const Geometry& geometry, bool transposed) {
  std::vector<std::int64_t> output_padding = geometry.output_padding;
  output_padding.resize(geometry.padding.size(), 0);
  return at::convolution(input, weight, maybe(bias), geometry.stride, geometry.padding,
                         geometry.dilation, transposed, output_padding, geometry.groups);
}

Results convolution(Inputs& in, bool transposed) {
  const at::Tensor input = in.tensor();
  const at::Tensor weight = in.tensor();
  const at::Tensor bias = in.tensor();
  return {convolve(input, weight, bias, read_geometry(in), transposed)};
}

Results forward(Inputs& in, const Fillers&) {
  return convolution(in, false);
}
Results forward_transposed(Inputs& in, const Fillers&) {
  return convolution(in, true);
}

Results forward_relu(Inputs& in, const Fillers&) {
  const at::Tensor input = in.tensor();
  const at::Tensor weight = in.tensor();
  const at::Tensor bias = in.tensor();
  return {at::relu(convolve(input, weight, bias, read_geometry(in), false))};
}

Results forward_add_relu(Inputs& in, const Fillers&) {
  const at::Tensor input = in.tensor();
  const at::Tensor weight = in.tensor();
  const at::Tensor bias = in.tensor();
  const Geometry geometry = read_geometry(in);
  const at::Tensor added = in.tensor();
  const double alpha = in.number(1);
  return {at::relu(at::add(convolve(input, weight, bias, geometry, false), added, alpha))};
}

/// A depthwise convolution: as many groups as the input has channels.
Results forward_depthwise(Inputs& in, const Fillers&) {
  const at::Tensor input = in.tensor();
  const at::Tensor weight = in.tensor();
  const at::Tensor bias = in.tensor();
  Geometry geometry = read_geometry(in);
  geometry.groups = input.size(1);
  return {convolve(input, weight, bias, geometry, false)};
}

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

Gradients gradients(const at::Tensor& grad_output, const at::Tensor& input,
                    const at::Tensor& weight, const Geometry& geometry, bool transposed,
                    std::array<bool, 3> mask) {
  std::vector<std::int64_t> output_padding = geometry.output_padding;
  output_padding.resize(geometry.padding.size(), 0);
  const std::int64_t outputs = transposed ? weight.size(1) * geometry.groups : weight.size(0);
  return at::convolution_backward(grad_output, input, weight,
                                  mask[2] ? at::OptionalIntArrayRef({outputs}) : std::nullopt,
                                  geometry.stride, geometry.padding, geometry.dilation, transposed,
                                  output_padding, geometry.groups, mask);
}

/// cuDNN's backward gives (input, weight); MIOpen's and oneDNN's a third, the bias.
Results backward(Inputs& in, bool transposed) {
  const at::Tensor input = in.tensor();
  const at::Tensor grad_output = in.tensor();
  const at::Tensor weight = in.tensor();
  const Geometry geometry = read_geometry(in);
  const std::vector<bool> mask = in.flags();
  TORCH_CHECK(mask.size() == 2 || mask.size() == 3, "output_mask has ", mask.size(),
              " elements, not 2 or 3");
  const bool with_bias = mask.size() == 3;
  auto [grad_input, grad_weight, grad_bias] =
      gradients(grad_output, input, weight, geometry, transposed,
                {mask[0], mask[1], with_bias && mask.back()});
  Results results{std::move(grad_input), std::move(grad_weight)};
  if (with_bias) {
    results.emplace_back(std::move(grad_bias));
  }
  return results;
}

Results backward_plain(Inputs& in, const Fillers&) {
  return backward(in, false);
}
Results backward_transposed(Inputs& in, const Fillers&) {
  return backward(in, true);
}

Results backward_input(Inputs& in, const Fillers&) {
  const std::vector<std::int64_t> size = in.integers();
  const at::Tensor grad_output = in.tensor();
  const at::Tensor weight = in.tensor();
  const Geometry geometry = read_geometry(in);
  const at::Tensor input = at::empty(size, grad_output.options());
  return {
      std::get<0>(gradients(grad_output, input, weight, geometry, false, {true, false, false}))};
}

Results backward_weight(Inputs& in, const Fillers&) {
  const std::vector<std::int64_t> size = in.integers();
  const at::Tensor grad_output = in.tensor();
  const at::Tensor input = in.tensor();
  const Geometry geometry = read_geometry(in);
  const at::Tensor weight = at::empty(size, grad_output.options());
  return {
      std::get<1>(gradients(grad_output, input, weight, geometry, false, {false, true, false}))};
}

constexpr std::string_view kBackward = "aten::convolution_backward";
constexpr std::string_view kForward = "aten::convolution";
constexpr std::string_view kForwardArguments =
    "self weight bias? padding output_padding? stride dilation groups?";
constexpr std::string_view kBackwardArguments =
    "self grad_output weight padding output_padding? stride dilation groups output_mask";

constexpr SubstituteRow kRows[] = {
    {"aten::cudnn_convolution", kForward, kForwardArguments, forward},
    {"aten::cudnn_convolution_transpose", kForward, kForwardArguments, forward_transposed},
    {"aten::cudnn_convolution_relu", "aten::convolution and aten::relu", kForwardArguments,
     forward_relu},
    {"aten::cudnn_convolution_add_relu", "aten::convolution, aten::add and aten::relu",
     "self weight bias? padding output_padding? stride dilation groups z alpha?", forward_add_relu},
    {"aten::miopen_convolution", kForward, kForwardArguments, forward},
    {"aten::miopen_convolution_transpose", kForward, kForwardArguments, forward_transposed},
    {"aten::miopen_depthwise_convolution", kForward, kForwardArguments, forward},
    {"aten::mkldnn_convolution", kForward, kForwardArguments, forward},
    {"aten::_conv_depthwise2d", kForward, kForwardArguments, forward_depthwise},
    {"aten::conv_depthwise3d", kForward, kForwardArguments, forward_depthwise},
    {"aten::cudnn_convolution_backward", kBackward, kBackwardArguments, backward_plain},
    {"aten::cudnn_convolution_transpose_backward", kBackward, kBackwardArguments,
     backward_transposed},
    {"aten::miopen_convolution_backward", kBackward, kBackwardArguments, backward_plain},
    {"aten::miopen_convolution_transpose_backward", kBackward, kBackwardArguments,
     backward_transposed},
    {"aten::miopen_depthwise_convolution_backward", kBackward, kBackwardArguments, backward_plain},
    {"aten::mkldnn_convolution_backward", kBackward, kBackwardArguments, backward_plain},
    {"aten::cudnn_convolution_backward_input", kBackward,
     "self_size grad_output weight padding output_padding? stride dilation groups", backward_input},
    {"aten::cudnn_convolution_backward_weight", kBackward,
     "weight_size grad_output self padding output_padding? stride dilation groups",
     backward_weight},
};

}  // namespace

std::span<const SubstituteRow> convolution_rows() {
  return kRows;
}

}  // namespace understudy::replayer
