#pragma once

// Emitted projects carry this file as it is: LibTorch and the standard library alone.
//
// Zeros that the original had in an optimizer's states: in rows of tables that no batch had met
// yet. Some operators take longer where they meet them: a vectorised square root three times as
// long.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/any.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/nonzero.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace understudy::replayer {

/// A tensor of which the original had a share in zeros. They are put where steps write none:
/// clear(), some steps, find(), then apply() to the first content.
class Zeros {
 public:
  Zeros(const at::Tensor& tensor, double share) : tensor_(tensor), share_(share) {}

  void clear() { tensor_.zero_(); }

  void find() {
    written_ = at::any(rows_of(tensor_.ne(0)), 1);
    const auto rows = static_cast<double>(written_.numel());
    const auto wanted = static_cast<std::int64_t>(std::llround((1 - share_) * rows));
    mark_more(wanted - written_.sum().item<std::int64_t>());
  }

  void apply() {
    rows_of(tensor_).masked_fill_(written_.logical_not().unsqueeze(1), 0);
    written_ = at::Tensor();
  }

 private:
  /// Rows along the last dimension: what a lookup's gradient touches whole.
  static at::Tensor rows_of(const at::Tensor& tensor) {
    return tensor.dim() < 2 ? tensor.reshape({-1, 1}) : tensor.reshape({-1, tensor.size(-1)});
  }

  /// So many of the rows that no step has written, evenly spread: the same ones in both moments of
  /// a parameter.
  void mark_more(std::int64_t count) {
    const at::Tensor others = at::nonzero(written_.logical_not()).flatten();
    const std::int64_t most = std::min(count, others.numel());
    if (most <= 0) {
      return;
    }
    const at::Tensor spread =
        at::arange(most, others.options()).mul(others.numel()).floor_divide(most);
    written_.index_fill_(0, others.index_select(0, spread), true);
  }

  at::Tensor tensor_;
  double share_;
  at::Tensor written_;  ///< by row
};

}  // namespace understudy::replayer
