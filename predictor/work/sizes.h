#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "predictor/calls/call.h"

namespace understudy::predictor {

/// Returns the size of a dimension, or 1 if the tensor does not have it.
[[nodiscard]] inline double size_at(const TensorLayout& tensor, std::size_t index) {
  return index < tensor.sizes.size() ? static_cast<double>(tensor.sizes[index]) : 1;
}

/// Returns true if the operator's name contains `part`.
[[nodiscard]] inline bool has_part(const OperatorCall& call, std::string_view part) {
  return call.name.find(part) != std::string::npos;
}

[[nodiscard]] inline double count(const TensorLayout& tensor) {
  return static_cast<double>(element_count(tensor));
}

template <typename Of>
[[nodiscard]] double sum_of(const std::vector<TensorLayout>& tensors, Of&& of) {
  double sum = 0;
  for (const TensorLayout& tensor : tensors) {
    sum += of(tensor);
  }
  return sum;
}

[[nodiscard]] inline double most_elements(const std::vector<TensorLayout>& tensors) {
  double most = 0;
  for (const TensorLayout& tensor : tensors) {
    most = std::max(most, count(tensor));
  }
  return most;
}

/// Returns the size of a dimension, counted from the last one, which is 1.
[[nodiscard]] inline double dimension(const TensorLayout& tensor, std::size_t from_end) {
  const std::size_t rank = tensor.sizes.size();
  return from_end <= rank ? static_cast<double>(tensor.sizes[rank - from_end]) : 1;
}

/// Returns the factors of a product: floating-point inputs of two dimensions or more, in order.
[[nodiscard]] std::vector<const TensorLayout*> matrices(const OperatorCall& call);

}  // namespace understudy::predictor
