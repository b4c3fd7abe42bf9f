#pragma once

#include "predictor/calls/card.h"
#include "predictor/operators/features.h"
#include "predictor/work/sizes.h"
#include "predictor/work/work.h"

namespace understudy::predictor {

inline constexpr double kNsPerS = 1e9;

/// The part of a product's result that one thread block computes.
struct Tile {
  double m, n;
};

/// Returns the kernels' load for a call on a card (docs/prediction.md, "Kernels"). `plain` is the
/// time of FLOPs and bytes at the card's peaks, `flops` the element type's peak per second.
[[nodiscard]] KernelLoad kernel_load(const Work& work, const Card& card, double flops,
                                     const KernelLoad& plain);

}  // namespace understudy::predictor
