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

struct Geometry {
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> output_padding;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
  std::int64_t groups = 1;

  [[nodiscard]] static Geometry read(Inputs& in) {
    Geometry geometry;
    geometry.padding = in.integers();
    geometry.output_padding = in.integers();
    geometry.stride = in.integers();
    geometry.dilation = in.integers();
    geometry.groups = in.integer(1);
    return geometry;
  }
};

Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias,
                const Geometry& geometry, bool transposed = false) {
  std::vector<std::int64_t> output_padding = geometry.output_padding;
  output_padding.resize(geometry.padding.size(), 0);
  return at::convolution(input, weight, maybe(bias), geometry.stride, geometry.padding,
                         geometry.dilation, transposed, output_padding, geometry.groups);
}

template <bool kTransposed>
Results forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                const Geometry& geometry) {
  return {convolve(input, weight, bias, geometry, kTransposed)};
}

Results forward_relu(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Geometry& geometry) {
  return {at::relu(convolve(input, weight, bias, geometry))};
}

Results forward_add_relu(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Geometry& geometry, const Tensor& added,
                         std::optional<double> alpha) {
  return {at::relu(at::add(convolve(input, weight, bias, geometry), added, alpha.value_or(1)))};
}

/// A depthwise convolution: it has as many groups as the input has channels.
Results forward_depthwise(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          Geometry geometry) {
  geometry.groups = input.size(1);
  return {convolve(input, weight, bias, geometry)};
}

using Gradients = std::tuple<Tensor, Tensor, Tensor>;

Gradients gradients(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                    const Geometry& geometry, bool transposed, std::array<bool, 3> mask) {
  std::vector<std::int64_t> output_padding = geometry.output_padding;
  output_padding.resize(geometry.padding.size(), 0);
  const std::int64_t outputs = transposed ? weight.size(1) * geometry.groups : weight.size(0);
  return at::convolution_backward(grad_output, input, weight,
                                  mask[2] ? at::OptionalIntArrayRef({outputs}) : std::nullopt,
                                  geometry.stride, geometry.padding, geometry.dilation, transposed,
                                  output_padding, geometry.groups, mask);
}

/// cuDNN's backward returns the gradients of (input, weight); MIOpen's and oneDNN's also that of
/// the bias.
template <bool kTransposed>
Results backward(const Tensor& input, const Tensor& grad_output, const Tensor& weight,
                 const Geometry& geometry, const std::vector<bool>& mask) {
  TORCH_CHECK(mask.size() == 2 || mask.size() == 3, "output_mask has ", mask.size(),
              " elements, not 2 or 3");
  const bool with_bias = mask.size() == 3;
  auto [grad_input, grad_weight, grad_bias] =
      gradients(grad_output, input, weight, geometry, kTransposed,
                {mask[0], mask[1], with_bias && mask.back()});
  Results results{std::move(grad_input), std::move(grad_weight)};
  if (with_bias) {
    results.emplace_back(std::move(grad_bias));
  }
  return results;
}

Results backward_input(const std::vector<std::int64_t>& size, const Tensor& grad_output,
                       const Tensor& weight, const Geometry& geometry) {
  const Tensor input = at::empty(size, grad_output.options());
  return {
      std::get<0>(gradients(grad_output, input, weight, geometry, false, {true, false, false}))};
}

Results backward_weight(const std::vector<std::int64_t>& size, const Tensor& grad_output,
                        const Tensor& input, const Geometry& geometry) {
  const Tensor weight = at::empty(size, grad_output.options());
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
    {"aten::cudnn_convolution aten::miopen_convolution aten::miopen_depthwise_convolution "
     "aten::mkldnn_convolution",
     kForward, kForwardArguments, unpacked<forward<false>>},
    {"aten::cudnn_convolution_transpose aten::miopen_convolution_transpose", kForward,
     kForwardArguments, unpacked<forward<true>>},
    {"aten::cudnn_convolution_relu", "aten::convolution and aten::relu", kForwardArguments,
     unpacked<forward_relu>},
    {"aten::cudnn_convolution_add_relu", "aten::convolution, aten::add and aten::relu",
     "self weight bias? padding output_padding? stride dilation groups z alpha?",
     unpacked<forward_add_relu>},
    {"aten::_conv_depthwise2d aten::conv_depthwise3d", kForward, kForwardArguments,
     unpacked<forward_depthwise>},
    {"aten::cudnn_convolution_backward aten::miopen_convolution_backward "
     "aten::miopen_depthwise_convolution_backward aten::mkldnn_convolution_backward",
     kBackward, kBackwardArguments, unpacked<backward<false>>},
    {"aten::cudnn_convolution_transpose_backward aten::miopen_convolution_transpose_backward",
     kBackward, kBackwardArguments, unpacked<backward<true>>},
    {"aten::cudnn_convolution_backward_input", kBackward,
     "self_size grad_output weight padding output_padding? stride dilation groups",
     unpacked<backward_input>},
    {"aten::cudnn_convolution_backward_weight", kBackward,
     "weight_size grad_output self padding output_padding? stride dilation groups",
     unpacked<backward_weight>},
};

}  // namespace

std::span<const SubstituteRow> convolution_rows() {
  return kRows;
}

}  // namespace understudy::replayer
