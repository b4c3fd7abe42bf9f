#include <ATen/ops/addcmul.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/var_mean.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "substitute_table.h"

namespace understudy::replayer {
namespace {

/// The third output of the CPU's operator is the inverse deviation, like cuDNN's saved variance.
template <bool kWithReserve>
Results batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Tensor& running_mean, const Tensor& running_var, bool training,
                   double momentum, double epsilon, const Fillers& fillers) {
  auto [output, mean, deviation] =
      at::native_batch_norm(input, maybe(weight), maybe(bias), maybe(running_mean),
                            maybe(running_var), training, momentum, epsilon);
  Results results{std::move(output), std::move(mean), std::move(deviation)};
  if (kWithReserve) {
    constexpr std::size_t kReserve = 3;
    results.emplace_back(fillers.make(kReserve, input.device()));
  }
  return results;
}

Results batch_norm_backward(const Tensor& input, const Tensor& grad_output, const Tensor& weight,
                            const Tensor& running_mean, const Tensor& running_var,
                            const Tensor& mean, const Tensor& deviation, double epsilon) {
  constexpr bool kTraining = true;  // cuDNN's backward exists for training only
  auto [grad_input, grad_weight, grad_bias] = at::native_batch_norm_backward(
      grad_output, input, maybe(weight), maybe(running_mean), maybe(running_var), maybe(mean),
      maybe(deviation), kTraining, epsilon, {true, true, true});
  return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
}

// --- the parts of a synchronized batch norm ---

/// Returns all dimensions except the channels'.
std::vector<std::int64_t> reduced(const Tensor& input) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(input.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin() + 1);
  return dims;
}

/// Reshapes one value per channel to broadcast over `input`.
Tensor over(const Tensor& channels, const Tensor& input) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(input.dim()), 1);
  sizes[1] = channels.numel();
  return channels.reshape(sizes);
}

/// Returns the dtype of statistics: float for half types.
at::ScalarType statistics_type(const Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Results batch_norm_stats(const Tensor& input, double epsilon) {
  auto [variance, mean] =
      at::var_mean(input.to(statistics_type(input)), reduced(input), /*correction=*/c10::Scalar(0));
  return {std::move(mean), at::rsqrt(variance + epsilon)};
}

Results batch_norm_elemt(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Tensor& mean, const Tensor& deviation) {
  const Tensor scale = weight.defined() ? deviation * weight : deviation;
  const Tensor shift = bias.defined() ? bias - mean * scale : -mean * scale;
  return {at::addcmul(over(shift, input), input, over(scale, input)).to(input.scalar_type())};
}

/// Returns the mean and the inverse deviation over all ranks. The input is ignored: the recorded
/// operator uses only its dtype.
Results batch_norm_gather_stats(const Tensor& /*input*/, const Tensor& means,
                                const Tensor& deviations, const Tensor& running_mean,
                                const Tensor& running_var, double momentum, double epsilon,
                                Tensor counts, std::int64_t count) {
  if (!counts.defined()) {
    counts = at::full({means.size(0)}, count, means.options());
  }
  const Tensor weights = counts.to(means.scalar_type()).reshape({-1, 1});
  const Tensor total = weights.sum();
  const Tensor mean = (means * weights).sum(0) / total;
  const Tensor variances = deviations.pow(-2) - epsilon;
  const Tensor variance = ((variances + means.square()) * weights).sum(0) / total - mean.square();
  if (running_mean.defined()) {
    running_mean.mul_(1 - momentum).add_(mean, momentum);
  }
  if (running_var.defined()) {
    running_var.mul_(1 - momentum).add_(variance * (total / (total - 1)), momentum);
  }
  return {mean, at::rsqrt(variance + epsilon)};
}

Results batch_norm_backward_reduce(const Tensor& grad_output, const Tensor& input,
                                   const Tensor& mean, const Tensor& deviation, bool input_wanted,
                                   bool weight_wanted, bool bias_wanted) {
  const at::ScalarType type = statistics_type(input);
  const Tensor sum = grad_output.to(type).sum(reduced(input));
  const Tensor weighted =
      (grad_output.to(type) * (input.to(type) - over(mean, input))).sum(reduced(input));
  return {input_wanted ? sum : Tensor(), input_wanted ? weighted : Tensor(),
          weight_wanted ? weighted * deviation : Tensor(), bias_wanted ? sum : Tensor()};
}

Results batch_norm_backward_elemt(const Tensor& grad_output, const Tensor& input,
                                  const Tensor& mean, const Tensor& deviation, const Tensor& weight,
                                  const Tensor& sum, const Tensor& weighted, const Tensor& counts) {
  const Tensor total = counts.sum().to(mean.scalar_type());
  const Tensor slope = deviation.square() * weighted / total;
  const Tensor scale = weight.defined() ? deviation * weight : deviation;
  const Tensor centered = (input - over(mean, input)) * over(slope, input);
  return {((grad_output - over(sum / total, input) - centered) * over(scale, input))
              .to(input.scalar_type())};
}

Results rms_norm_backward(const Tensor& grad_output, const Tensor& input,
                          const std::vector<std::int64_t>& shape, const Tensor& deviation,
                          const Tensor& weight, const std::vector<bool>& mask) {
  TORCH_CHECK(mask.size() == 2, "output_mask has ", mask.size(), " elements, not 2");
  std::vector<std::int64_t> inner(shape.size());
  std::iota(inner.begin(), inner.end(), input.dim() - static_cast<std::int64_t>(shape.size()));
  const Tensor normal = input * deviation;
  const Tensor scaled = weight.defined() ? grad_output * weight : grad_output;
  Tensor grad_input;
  if (mask[0]) {
    const Tensor mean = (scaled * normal).mean(inner, /*keepdim=*/true);
    grad_input = ((scaled - normal * mean) * deviation).to(input.scalar_type());
  }
  Tensor grad_weight;
  if (mask[1]) {
    grad_weight = (grad_output * normal).sum_to_size(weight.sizes()).to(weight.scalar_type());
  }
  return {grad_input, grad_weight};
}

constexpr std::string_view kForward = "aten::native_batch_norm";
constexpr std::string_view kForwardArguments =
    "input weight bias? running_mean? running_var? training exponential_average_factor epsilon";

constexpr SubstituteRow kRows[] = {
    {"aten::cudnn_batch_norm", kForward, kForwardArguments, unpacked<batch_norm<true>>},
    {"aten::miopen_batch_norm", kForward, kForwardArguments, unpacked<batch_norm<false>>},
    {"aten::cudnn_batch_norm_backward aten::miopen_batch_norm_backward",
     "aten::native_batch_norm_backward",
     "input grad_output weight running_mean? running_var? save_mean? save_var? epsilon",
     unpacked<batch_norm_backward>},
    {"aten::batch_norm_stats", "aten::var_mean", "input eps", unpacked<batch_norm_stats>},
    {"aten::batch_norm_elemt", "aten::addcmul", "input weight? bias? mean invstd",
     unpacked<batch_norm_elemt>},
    {"aten::batch_norm_gather_stats_with_counts", "aten::sum and pointwise operators",
     "input mean invstd running_mean? running_var? momentum eps counts count?",
     unpacked<batch_norm_gather_stats>},
    {"aten::batch_norm_gather_stats", "aten::sum and pointwise operators",
     "input mean invstd running_mean? running_var? momentum eps counts? count",
     unpacked<batch_norm_gather_stats>},
    {"aten::batch_norm_backward_reduce", "aten::sum and pointwise operators",
     "grad_out input mean invstd input_g weight_g bias_g", unpacked<batch_norm_backward_reduce>},
    {"aten::batch_norm_backward_elemt", "pointwise operators",
     "grad_out input mean invstd weight? sum_dy|mean_dy sum_dy_xmu|mean_dy_xmu count",
     unpacked<batch_norm_backward_elemt>},
    {"aten::_fused_rms_norm_backward", "aten::mean, aten::sum and pointwise operators",
     "grad_out input normalized_shape rstd weight? output_mask", unpacked<rms_norm_backward>},
};

}  // namespace

std::span<const SubstituteRow> normalization_rows() {
  return kRows;
}

}  // namespace understudy::replayer
