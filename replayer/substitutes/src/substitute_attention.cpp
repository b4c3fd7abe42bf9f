#include "substitute_attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "substitute_table.h"

namespace understudy::replayer {

Attention Attention::read(Inputs& in) {
  return {in.tensor(), in.tensor(), in.tensor(), in.tensor(), in.flag(), in.maybe_number()};
}

Attention Attention::with_equal_heads() const {
  Attention equal = *this;
  const std::int64_t group = query.size(1) / key.size(1);
  if (group > 1) {
    equal.key = key.repeat_interleave(group, 1);
    equal.value = value.repeat_interleave(group, 1);
  }
  return equal;
}

double Attention::used_scale() const {
  return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3))));
}

Tensor Attention::masked(const Tensor& scores) const {
  if (!causal) {
    return scores;
  }
  const Tensor seen =
      at::ones({scores.size(2), scores.size(3)}, scores.options().dtype(at::kBool)).tril();
  return scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
}

AttentionOutput attend(const Attention& attention) {
  const Attention equal = attention.with_equal_heads();
  auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
      equal.query, equal.key, equal.value, /*dropout_p=*/0.0, equal.causal, maybe(equal.bias),
      equal.scale);
  return {std::move(output), std::move(logsumexp)};
}

Tensor summed_heads(const Tensor& gradient, const Tensor& like) {
  if (gradient.size(1) == like.size(1)) {
    return gradient;
  }
  return gradient.unflatten(1, {like.size(1), gradient.size(1) / like.size(1)}).sum(2);
}

namespace {

/// The CPU's operator has no gradient for the bias, so the softmax is recomputed from the saved
/// logarithm of its sum.
AttentionGradients attend_backward_with_bias(const Attention& attention, const Tensor& grad_output,
                                             const Tensor& output, const Tensor& logsumexp) {
  const double scale = attention.used_scale();
  const Tensor scores = attention.masked(
      at::matmul(attention.query, attention.key.transpose(2, 3)) * scale + attention.bias);
  const Tensor weights = (scores - logsumexp.unsqueeze(3)).exp().to(attention.query.scalar_type());
  const Tensor grad_weights = at::matmul(grad_output, attention.value.transpose(2, 3));
  const Tensor inner = (grad_output * output).sum(3, /*keepdim=*/true);
  const Tensor grad_scores = weights * (grad_weights - inner);
  return {.query = at::matmul(grad_scores, attention.key) * scale,
          .key = at::matmul(grad_scores.transpose(2, 3), attention.query) * scale,
          .value = at::matmul(weights.transpose(2, 3), grad_output),
          .bias = grad_scores.sum_to_size(attention.bias.sizes())};
}

}  // namespace

AttentionGradients attend_backward(const Attention& attention, const Tensor& grad_output,
                                   const Tensor& output, const Tensor& logsumexp,
                                   bool bias_wanted) {
  const Attention equal = attention.with_equal_heads();
  const Tensor log = logsumexp.narrow(2, 0, attention.query.size(2));
  AttentionGradients gradients;
  if (bias_wanted && equal.bias.defined()) {
    gradients = attend_backward_with_bias(equal, grad_output, output, log);
  } else {
    auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        grad_output, equal.query, equal.key, equal.value, output, log, /*dropout_p=*/0.0,
        equal.causal, maybe(equal.bias), equal.scale);
    gradients = {.query = std::move(query),
                 .key = std::move(key),
                 .value = std::move(value),
                 .bias = Tensor()};
  }
  gradients.key = summed_heads(gradients.key, attention.key);
  gradients.value = summed_heads(gradients.value, attention.value);
  return gradients;
}

Tensor logsumexp_or_none(const AttentionOutput& output, bool wanted, const Fillers& fillers) {
  return wanted ? in_recorded_layout(output.logsumexp, fillers.layout(kLogsumexp))
                : output.logsumexp.narrow(2, 0, 0).contiguous();
}

Tensor in_recorded_layout(const Tensor& tensor, const et_schema::Slot* recorded) {
  if (recorded == nullptr || recorded->sizes.size() != static_cast<std::size_t>(tensor.dim())) {
    return tensor.contiguous();
  }
  const Tensor result =
      at::empty_strided(recorded->sizes, recorded->strides, tensor.options()).zero_();
  Tensor target = result;
  Tensor source = tensor;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    const std::int64_t common = std::min(result.size(dim), tensor.size(dim));
    target = target.narrow(dim, 0, common);
    source = source.narrow(dim, 0, common);
  }
  target.copy_(source);
  return result;
}

namespace {

// Dropout within the attention has no kernel on the CPU, so it is skipped. The random number states
// are only made in their recorded layout.

/// Indices of the results of the flash and cuDNN operators.
enum FlashResult : std::size_t {
  kCumulativeQuery = 2,
  kCumulativeKey = 3,
  kSeed = 6,
  kOffset = 7,
  kDebugMask = 8
};

Results flash(const Attention& attention, const Fillers& fillers) {
  AttentionOutput output = attend(attention);
  const at::Device device = attention.query.device();
  return {std::move(output.output),
          in_recorded_layout(output.logsumexp, fillers.layout(kLogsumexp)),
          fillers.make(kCumulativeQuery, device),
          fillers.make(kCumulativeKey, device),
          attention.query.size(2),
          attention.key.size(2),
          fillers.make(kSeed, device),
          fillers.make(kOffset, device),
          fillers.make(kDebugMask, device)};
}

Results flash_backward(const Tensor& grad_output, const Tensor& output, const Tensor& logsumexp,
                       const Attention& attention) {
  AttentionGradients gradients =
      attend_backward(attention, grad_output, output, logsumexp, /*bias_wanted=*/false);
  return {std::move(gradients.query), std::move(gradients.key), std::move(gradients.value)};
}

Results efficient(const Attention& attention, bool logsumexp_wanted, const Fillers& fillers) {
  AttentionOutput output = attend(attention);
  constexpr std::size_t kEfficientSeed = 2;
  constexpr std::size_t kEfficientOffset = 3;
  const at::Device device = attention.query.device();
  return {std::move(output.output), logsumexp_or_none(output, logsumexp_wanted, fillers),
          fillers.make(kEfficientSeed, device), fillers.make(kEfficientOffset, device)};
}

Results efficient_backward(const Tensor& grad_output, const Tensor& output, const Tensor& logsumexp,
                           const Attention& attention, const std::vector<bool>& mask) {
  TORCH_CHECK(mask.size() == 4, "grad_input_mask has ", mask.size(), " elements, not 4");
  AttentionGradients gradients =
      attend_backward(attention, grad_output, output, logsumexp, mask[3]);
  return {mask[0] ? gradients.query : Tensor(), mask[1] ? gradients.key : Tensor(),
          mask[2] ? gradients.value : Tensor(), mask[3] ? gradients.bias : Tensor()};
}

constexpr SubstituteRow kRows[] = {
    {"aten::_scaled_dot_product_flash_attention aten::_scaled_dot_product_cudnn_attention",
     kByFlash, "query key value attn_bias? is_causal scale?", unpacked<flash>},
    {"aten::_scaled_dot_product_flash_attention_backward "
     "aten::_scaled_dot_product_cudnn_attention_backward",
     kByFlashBackward, "grad_out out logsumexp query key value attn_bias? is_causal scale?",
     unpacked<flash_backward>},
    {"aten::_scaled_dot_product_efficient_attention", kByFlash,
     "query key value attn_bias? is_causal scale? compute_log_sumexp", unpacked<efficient>},
    {"aten::_scaled_dot_product_efficient_attention_backward", kByFlashBackward,
     "grad_out_ out logsumexp query key value attn_bias? is_causal scale? grad_input_mask",
     unpacked<efficient_backward>},
};

}  // namespace

std::span<const SubstituteRow> attention_rows() {
  return kRows;
}

}  // namespace understudy::replayer
