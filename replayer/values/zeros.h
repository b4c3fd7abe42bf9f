#pragma once

// Zeros in the original's optimizer states: rows of tables that no batch had used yet. Some
// operators are slower on zeros: a vectorised square root takes three times as long.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/any.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/nonzero.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace understudy::replayer {

/// A tensor with a known share of zeros in the original. The zeros go to rows that steps do not
/// write: call clear(), run some steps, then find(), then apply() to the initial content.
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
  /// Rows along the last dimension; a lookup's gradient writes whole rows.
  static at::Tensor rows_of(const at::Tensor& tensor) {
    return tensor.dim() < 2 ? tensor.reshape({-1, 1}) : tensor.reshape({-1, tensor.size(-1)});
  }

  /// Marks `count` of the unwritten rows as written, evenly spread: the same rows in both moments
  /// of a parameter.
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
