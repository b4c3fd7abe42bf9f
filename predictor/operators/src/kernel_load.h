#pragma once

#include <string_view>

#include "predictor/calls/card.h"
#include "predictor/operators/features.h"
#include "predictor/operators/work.h"

namespace understudy::predictor {

inline constexpr double kNsPerS = 1e9;

/// A part of a product's result that one block of threads makes.
struct Tile {
  double m, n;
};

/// 1 where the tensor has no such dimension.
[[nodiscard]] inline double size_at(const TensorLayout& tensor, std::size_t index) {
  return index < tensor.sizes.size() ? static_cast<double>(tensor.sizes[index]) : 1;
}

/// Whether the operator's name has that part.
[[nodiscard]] inline bool has_part(const OperatorCall& call, std::string_view part) {
  return call.name.find(part) != std::string::npos;
}

/// What a card's kernels do for a call (docs/prediction.md, "Kernels"). `plain` is the time of its
/// FLOPs and bytes at the card's peaks, `flops` the peak of its element type, a second.
[[nodiscard]] KernelLoad kernel_load(const OperatorCall& call, const Work& work, const Card& card,
                                     double flops, const KernelLoad& plain);

}  // namespace understudy::predictor
