#pragma once

#include <optional>
#include <string_view>

#include "et_schema/model/program.h"
#include "substitute_table.h"

namespace understudy::replayer {

/// One scaled dot product attention over (batch, heads, length, width) tensors. There may be fewer
/// heads of keys and values than of queries: each serves a group of query heads.
struct Attention {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor bias;  ///< undefined if there is none
  bool causal = false;
  std::optional<double> scale;  ///< if unset: 1/sqrt(width)

  [[nodiscard]] static Attention read(Inputs& in);
  /// Returns the attention with each head of keys and values repeated for its group.
  [[nodiscard]] Attention with_equal_heads() const;
  [[nodiscard]] double used_scale() const;
  /// Returns the scores with later positions masked, if the attention is causal.
  [[nodiscard]] Tensor masked(const Tensor& scores) const;
};

/// Texts for the report.
inline constexpr std::string_view kByFlash =
    "aten::_scaled_dot_product_flash_attention_for_cpu, without dropout";
inline constexpr std::string_view kByFlashBackward =
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward, without dropout";

struct AttentionOutput {
  Tensor output;
  Tensor logsumexp;  ///< (batch, heads, query length)
};

struct AttentionGradients {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor bias;  ///< undefined unless requested
};

/// Runs the CPU's flash attention.
[[nodiscard]] AttentionOutput attend(const Attention& attention);

/// Runs the backward of attend(). `logsumexp` may be padded beyond the query length.
[[nodiscard]] AttentionGradients attend_backward(const Attention& attention,
                                                 const Tensor& grad_output, const Tensor& output,
                                                 const Tensor& logsumexp, bool bias_wanted);

/// Sums the gradient of keys or values over the query heads that share them, to the heads of
/// `like`.
[[nodiscard]] Tensor summed_heads(const Tensor& gradient, const Tensor& like);

/// Index of the logarithm of the softmax's sum in the results of all GPU attention operators.
inline constexpr std::size_t kLogsumexp = 1;
/// Returns the logsumexp in its recorded layout, without elements unless it is `wanted` (the
/// efficient operators have a flag for it).
[[nodiscard]] Tensor logsumexp_or_none(const AttentionOutput& output, bool wanted,
                                       const Fillers& fillers);

/// Returns the tensor in its recorded layout, padded with zeros or cut; contiguous if no layout was
/// recorded.
[[nodiscard]] Tensor in_recorded_layout(const Tensor& tensor, const et_schema::Slot* recorded);

}  // namespace understudy::replayer
