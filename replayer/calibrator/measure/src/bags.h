#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "replayer/calibrator/design/table_calls.h"

namespace understudy::calibrator {

/// A table, and the lookups, sums and gradient of one repetition.
class Bags {
 public:
  Bags(const DrawnTable& table, std::int64_t batch)
      : table_(table),
        // Filled with a value: pages that were never written would share one physical page.
        weight_(at::full({table.rows, table.dim}, 0.5)),
        offsets_(at::arange(batch) * table.pooling),
        gradient_(at::ones({batch, table.dim})) {}

  void look_up(const std::vector<std::int64_t>& rows) {
    indices_ = at::tensor(rows, at::kLong);
    forward_ = {};
  }
  void forward() { forward_ = at::_embedding_bag(weight_, indices_, offsets_, false, kSum, true); }
  /// Computes the gradient with the operator that autograd calls. _embedding_bag_sparse_backward
  /// needs the bag of each lookup, which the forward pass does not always compute.
  void backward() {
    constexpr double kRate = -0.01;
    const auto& [sums, offset_to_bag, bag_sizes, most] = forward_;
    weight_.add_(
        at::_embedding_bag_backward(gradient_, indices_, offsets_, offset_to_bag, bag_sizes, most,
                                    table_.rows, false, kSum, true, {}, -1),
        kRate);
  }
  [[nodiscard]] const at::Tensor& sums() const { return std::get<0>(forward_); }
  [[nodiscard]] const at::Tensor& weight() const { return weight_; }

 private:
  static constexpr std::int64_t kSum = 0;  // embedding_bag's mode
  const DrawnTable& table_;
  at::Tensor weight_;
  at::Tensor offsets_;
  at::Tensor gradient_;
  at::Tensor indices_;
  std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> forward_;
};

}  // namespace understudy::calibrator
