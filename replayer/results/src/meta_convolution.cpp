// Convolutions and their gradients: cuDNN, MIOpen, oneDNN and LibTorch's own.

#include <ATen/native/ConvUtils.h>
#include <ATen/ops/empty.h>

#include <array>
#include <numeric>

#include "meta_call.h"

namespace understudy::replayer {
namespace {

/// Libraries use the memory format of the input or, if that is contiguous, of the weight.
at::MemoryFormat order_of(const at::Tensor& input, const at::Tensor& weight) {
  const at::MemoryFormat of_input = input.suggest_memory_format();
  return of_input == at::MemoryFormat::Contiguous ? weight.suggest_memory_format() : of_input;
}

at::Tensor ordered(const at::Tensor& model, at::IntArrayRef sizes, at::MemoryFormat order) {
  return at::empty(sizes, model.options().memory_format(order));
}

/// Returns one number per spatial dimension; a single number is repeated.
std::vector<std::int64_t> for_planes(std::vector<std::int64_t> numbers, const at::Tensor& input,
                                     std::int64_t otherwise) {
  const auto planes = static_cast<std::size_t>(input.dim() - 2);
  if (numbers.empty()) {
    numbers.push_back(otherwise);
  }
  numbers.resize(planes, numbers.back());
  return numbers;
}

struct Windows {
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
};

Windows windows_of(const MetaCall& call, const at::Tensor& input) {
  return {for_planes(call.integers("padding"), input, 0),
          for_planes(call.integers("stride"), input, 1),
          for_planes(call.integers("dilation"), input, 1)};
}

at::Tensor input_of(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  return input.defined() ? input : call.tensor("self");
}

at::Tensor convolved(const MetaCall& call, bool transposed, bool in_order) {
  const at::Tensor input = input_of(call);
  const at::Tensor weight = call.tensor("weight");
  TORCH_CHECK(input.dim() > 2 && input.dim() == weight.dim(), "a convolution of ", input.dim(),
              " dimensions by a weight of ", weight.dim());
  const Windows windows = windows_of(call, input);
  const std::vector<std::int64_t> sizes =
      transposed
          ? at::native::conv_input_size(input.sizes(), weight.sizes(), windows.padding,
                                        for_planes(call.integers("output_padding"), input, 0),
                                        windows.stride, windows.dilation, call.integer("groups", 1))
          : at::native::conv_output_size(input.sizes(), weight.sizes(), windows.padding,
                                         windows.stride, windows.dilation);
  return ordered(input, sizes, in_order ? order_of(input, weight) : at::MemoryFormat::Contiguous);
}

MetaResults forward(const MetaCall& call) {
  return {convolved(call, call.flag("transposed"), true)};
}
MetaResults forward_plain(const MetaCall& call) {
  return {convolved(call, false, false)};
}
MetaResults forward_transposed(const MetaCall& call) {
  return {convolved(call, true, true)};
}

MetaResults backward(const MetaCall& call) {
  const at::Tensor grad = call.tensor("grad_output");
  const at::Tensor input = input_of(call);
  const at::Tensor weight = call.tensor("weight");
  const at::MemoryFormat order = order_of(input, weight);
  MetaResults results = {call.wants(0) ? ordered(input, input.sizes(), order) : at::Tensor(),
                         call.wants(1) ? ordered(weight, weight.sizes(), order) : at::Tensor()};
  if (call.results() > 2) {
    results.emplace_back(call.wants(2) ? sized(grad, {grad.size(1)}) : at::Tensor());
  }
  return results;
}

constexpr std::array<MetaRow, 4> kRows = {
    {{"convolution_overrideable mkldnn_convolution cudnn_convolution cudnn_convolution_relu "
      "cudnn_convolution_add_relu miopen_convolution miopen_convolution_relu "
      "miopen_convolution_add_relu miopen_depthwise_convolution slow_conv_dilated2d "
      "slow_conv_dilated3d",
      forward},
     {"_slow_conv2d_forward _conv_depthwise2d conv_depthwise3d slow_conv3d_forward", forward_plain},
     {"cudnn_convolution_transpose miopen_convolution_transpose slow_conv_transpose2d "
      "slow_conv_transpose3d",
      forward_transposed},
     {"convolution_backward_overrideable _slow_conv2d_backward.output_mask", backward}}};

}  // namespace

std::span<const MetaRow> convolution_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
