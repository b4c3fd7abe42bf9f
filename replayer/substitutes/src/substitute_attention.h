#pragma once

#include <optional>
#include <string_view>

#include "et_schema/model/program.h"
#include "substitute_table.h"

namespace understudy::replayer {

/// One scaled dot product attention over (batch, heads, length, width) tensors. There may be fewer
/// heads of keys and values than of queries: each serves a group.
struct Attention {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor bias;  ///< undefined: none
  bool causal = false;
  std::optional<double> scale;  ///< none: 1/sqrt(width)

  [[nodiscard]] static Attention read(Inputs& in);
  /// The same with each head of keys and values repeated for its group.
  [[nodiscard]] Attention with_equal_heads() const;
  [[nodiscard]] double used_scale() const;
  /// Without what comes after the query, where it is causal.
  [[nodiscard]] Tensor masked(const Tensor& scores) const;
};

/// For the report.
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
  Tensor bias;  ///< undefined unless it was wanted
};

/// The CPU's flash attention.
[[nodiscard]] AttentionOutput attend(const Attention& attention);

/// Its backward. `logsumexp` may be padded beyond the query length.
[[nodiscard]] AttentionGradients attend_backward(const Attention& attention,
                                                 const Tensor& grad_output, const Tensor& output,
                                                 const Tensor& logsumexp, bool bias_wanted);

/// The gradient of keys or values that several query heads share, as heads of `like`.
[[nodiscard]] Tensor summed_heads(const Tensor& gradient, const Tensor& like);

/// Where all operators of attention on a GPU return the logarithm of the softmax's sum.
inline constexpr std::size_t kLogsumexp = 1;
/// That in its recorded layout; without elements where the efficient operators were asked for none.
[[nodiscard]] Tensor logsumexp_or_none(const AttentionOutput& output, bool wanted,
                                       const Fillers& fillers);

/// The tensor in the layout that was recorded for it, padded with zeros or cut; contiguous where
/// none was recorded.
[[nodiscard]] Tensor in_recorded_layout(const Tensor& tensor, const et_schema::Slot* recorded);

}  // namespace understudy::replayer
