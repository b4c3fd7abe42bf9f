#include <ATen/ops/convolution.h>

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

/// A depthwise convolution: it has as many groups as the input has channels.
Results forward_depthwise(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          Geometry geometry) {
  geometry.groups = input.size(1);
  return {convolve(input, weight, bias, geometry)};
}

constexpr std::string_view kForward = "aten::convolution";
constexpr std::string_view kForwardArguments =
    "self weight bias? padding output_padding? stride dilation groups?";

constexpr SubstituteRow kRows[] = {
    {"aten::cudnn_convolution aten::miopen_convolution aten::miopen_depthwise_convolution "
     "aten::mkldnn_convolution",
     kForward, kForwardArguments, unpacked<forward<false>>},
    {"aten::cudnn_convolution_transpose aten::miopen_convolution_transpose", kForward,
     kForwardArguments, unpacked<forward<true>>},
    {"aten::_conv_depthwise2d aten::conv_depthwise3d", kForward, kForwardArguments,
     unpacked<forward_depthwise>},
};

}  // namespace

std::span<const SubstituteRow> convolution_rows() {
  return kRows;
}

}  // namespace understudy::replayer
