#pragma once

#include <algorithm>
#include <vector>

#include "kernel_load.h"
#include "predictor/operators/work.h"

namespace understudy::predictor {

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

// Each sets the FLOPs and the sizes of a call of its family. What the arguments do not tell stays.
void set_product(const OperatorCall& call, Work& work);
void set_convolution(const OperatorCall& call, Work& work);
void set_attention(const OperatorCall& call, Work& work);
/// Sets the bytes, too: of the experts' weights only those that are hit.
void set_experts(const OperatorCall& call, Work& work);

}  // namespace understudy::predictor
