#pragma once

#include <string_view>

#include "predictor/calls/card.h"
#include "predictor/operators/features.h"
#include "predictor/operators/work.h"

namespace understudy::predictor {

inline constexpr double kNsPerS = 1e9;

/// The part of a product's result that one thread block computes.
struct Tile {
  double m, n;
};

/// Returns the size of a dimension, or 1 if the tensor does not have it.
[[nodiscard]] inline double size_at(const TensorLayout& tensor, std::size_t index) {
  return index < tensor.sizes.size() ? static_cast<double>(tensor.sizes[index]) : 1;
}

/// Returns true if the operator's name contains `part`.
[[nodiscard]] inline bool has_part(const OperatorCall& call, std::string_view part) {
  return call.name.find(part) != std::string::npos;
}

/// Returns the kernels' load for a call on a card (docs/prediction.md, "Kernels"). `plain` is the
/// time of FLOPs and bytes at the card's peaks, `flops` the element type's peak per second.
[[nodiscard]] KernelLoad kernel_load(const Work& work, const Card& card, double flops,
                                     const KernelLoad& plain);

}  // namespace understudy::predictor
