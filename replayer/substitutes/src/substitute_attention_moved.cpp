// Replaces the CPU's flash attention if a benchmark recorded on a CPU runs on a device, which has
// no kernel of that name: computes attention from basic operators.
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>

#include <limits>
#include <utility>

#include "substitute_attention.h"

namespace understudy::replayer {
namespace {

/// Computes the scores in float32, like the CPU's kernel.
Tensor scores_of(const Attention& attention) {
  Tensor scores = at::matmul(attention.query, attention.key.transpose(2, 3)).to(at::kFloat) *
                  attention.used_scale();
  if (attention.bias.defined()) {
    scores = attention.bias.scalar_type() == at::kBool
                 ? scores.masked_fill(attention.bias.logical_not(),
                                      -std::numeric_limits<double>::infinity())
                 : scores + attention.bias;
  }
  return attention.masked(scores);
}

Results moved_forward(const Attention& attention, const Fillers& fillers) {
  const Attention equal = attention.with_equal_heads();
  const Tensor scores = scores_of(equal);
  const Tensor logsumexp = at::logsumexp(scores, 3);
  const Tensor weights = (scores - logsumexp.unsqueeze(3)).exp();
  const Tensor output = at::matmul(weights.to(equal.value.scalar_type()), equal.value);
  return {in_recorded_layout(output, fillers.layout(0)),
          in_recorded_layout(logsumexp, fillers.layout(1))};
}

Results moved_backward(const Tensor& grad_output, const Tensor& output, const Tensor& logsumexp,
                       const Attention& attention, const Fillers& fillers) {
  const Attention equal = attention.with_equal_heads();
  const Tensor weights = (scores_of(equal) - logsumexp.unsqueeze(3)).exp();
  const Tensor grad_weights = at::matmul(grad_output, equal.value.transpose(2, 3)).to(at::kFloat);
  const Tensor inner = (grad_output * output).to(at::kFloat).sum(3, /*keepdim=*/true);
  const Tensor grad_scores =
      (weights * (grad_weights - inner) * equal.used_scale()).to(equal.query.scalar_type());
  const Tensor grad_key = at::matmul(grad_scores.transpose(2, 3), equal.query);
  const Tensor grad_value =
      at::matmul(weights.to(grad_output.scalar_type()).transpose(2, 3), grad_output);
  return {in_recorded_layout(at::matmul(grad_scores, equal.key), fillers.layout(0)),
          in_recorded_layout(summed_heads(grad_key, attention.key), fillers.layout(1)),
          in_recorded_layout(summed_heads(grad_value, attention.value), fillers.layout(2))};
}

constexpr std::string_view kBy = "aten::matmul and pointwise operators";

constexpr SubstituteRow kRows[] = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu", kBy,
     "query key value attn_mask? is_causal scale?", unpacked<moved_forward>},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", kBy,
     "grad_out out logsumexp query key value attn_mask? is_causal scale?",
     unpacked<moved_backward>},
};

}  // namespace

std::span<const SubstituteRow> moved_attention_rows() {
  return kRows;
}

}  // namespace understudy::replayer
