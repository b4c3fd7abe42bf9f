// The CPU's flash attention where a benchmark that was recorded on a CPU moves to a device, which
// has no kernel of that name: the written-out computation.
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <limits>
#include <utility>

#include "substitute_attention.h"

namespace understudy::replayer {
namespace {

double scale_of(const Attention& attention) {
  return attention.scale.value_or(1 / std::sqrt(static_cast<double>(attention.query.size(3))));
}

/// In float32, as the CPU's kernel sums them.
Tensor scores_of(const Attention& attention) {
  Tensor scores = at::matmul(attention.query, attention.key.transpose(2, 3)).to(at::kFloat) *
                  scale_of(attention);
  if (attention.bias.defined()) {
    scores = attention.bias.scalar_type() == at::kBool
                 ? scores.masked_fill(attention.bias.logical_not(),
                                      -std::numeric_limits<double>::infinity())
                 : scores + attention.bias;
  }
  if (attention.causal) {
    const Tensor seen =
        at::ones({scores.size(2), scores.size(3)}, scores.options().dtype(at::kBool)).tril();
    scores = scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
  }
  return scores;
}

Results moved_forward(const Tensor& query, const Tensor& key, const Tensor& value, bool causal,
                      const Tensor& bias, std::optional<double> scale, const Fillers& fillers) {
  const Attention equal = Attention{query, key, value, bias, causal, scale}.with_equal_heads();
  const Tensor scores = scores_of(equal);
  const Tensor logsumexp = at::logsumexp(scores, 3);
  const Tensor weights = (scores - logsumexp.unsqueeze(3)).exp();
  const Tensor output = at::matmul(weights.to(value.scalar_type()), equal.value);
  return {in_recorded_layout(output, fillers.layout(0)),
          in_recorded_layout(logsumexp, fillers.layout(1))};
}

Results moved_backward(const Tensor& grad_output, const Tensor& query, const Tensor& key,
                       const Tensor& value, const Tensor& output, const Tensor& logsumexp,
                       bool causal, const Tensor& bias, std::optional<double> scale,
                       const Fillers& fillers) {
  const Attention equal = Attention{query, key, value, bias, causal, scale}.with_equal_heads();
  const Tensor weights = (scores_of(equal) - logsumexp.unsqueeze(3)).exp();
  const Tensor grad_weights = at::matmul(grad_output, equal.value.transpose(2, 3)).to(at::kFloat);
  const Tensor inner = (grad_output * output).to(at::kFloat).sum(3, /*keepdim=*/true);
  const Tensor grad_scores =
      (weights * (grad_weights - inner) * scale_of(equal)).to(query.scalar_type());
  const Tensor grad_key = at::matmul(grad_scores.transpose(2, 3), equal.query);
  const Tensor grad_value =
      at::matmul(weights.to(grad_output.scalar_type()).transpose(2, 3), grad_output);
  return {in_recorded_layout(at::matmul(grad_scores, equal.key), fillers.layout(0)),
          in_recorded_layout(summed_heads(grad_key, key), fillers.layout(1)),
          in_recorded_layout(summed_heads(grad_value, value), fillers.layout(2))};
}

constexpr std::string_view kBy = "aten::matmul and pointwise operators";

constexpr SubstituteRow kRows[] = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu", kBy,
     "query key value is_causal attn_mask? scale?", unpacked<moved_forward>},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", kBy,
     "grad_out query key value out logsumexp is_causal attn_mask? scale?",
     unpacked<moved_backward>},
};

}  // namespace

std::span<const SubstituteRow> moved_attention_rows() {
  return kRows;
}

}  // namespace understudy::replayer
