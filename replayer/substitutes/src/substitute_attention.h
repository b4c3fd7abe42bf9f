#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// One scaled dot product attention over (batch, heads, length, width) tensors. There may be fewer
/// heads of keys and values than of queries: each serves a group.
struct Attention {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor bias;  ///< undefined: none
  bool causal = false;
  std::optional<double> scale;  ///< none: 1/sqrt(width)

  /// The same with each head of keys and values repeated for its group.
  [[nodiscard]] Attention with_equal_heads() const;
};

struct AttentionOutput {
  at::Tensor output;
  at::Tensor logsumexp;  ///< (batch, heads, query length)
};

struct AttentionGradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor bias;  ///< undefined unless it was wanted
};

/// The CPU's flash attention.
[[nodiscard]] AttentionOutput attend(const Attention& attention);

/// Its backward. `logsumexp` may be padded beyond the query length.
[[nodiscard]] AttentionGradients attend_backward(const Attention& attention,
                                                 const at::Tensor& grad_output,
                                                 const at::Tensor& output,
                                                 const at::Tensor& logsumexp, bool bias_wanted);

/// The gradient of keys or values that several query heads share, as heads of `like`.
[[nodiscard]] at::Tensor summed_heads(const at::Tensor& gradient, const at::Tensor& like);

/// The tensor in the layout that was recorded for it, padded with zeros or cut; contiguous where
/// none was recorded.
[[nodiscard]] at::Tensor in_recorded_layout(const at::Tensor& tensor,
                                            const et_schema::Slot* recorded);

}  // namespace understudy::replayer
