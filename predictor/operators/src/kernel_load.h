#pragma once

#include "predictor/card/card.h"
#include "predictor/operators/features.h"
#include "predictor/operators/work.h"

namespace understudy::predictor {

/// What a card's kernels do for a call (docs/prediction.md, "Kernels"). `plain` is the time of its
/// FLOPs and bytes at the card's peaks, `flops` the peak of its element type, a second.
[[nodiscard]] KernelLoad kernel_load(const OperatorCall& call, const Work& work, const Card& card,
                                     double flops, const KernelLoad& plain);

}  // namespace understudy::predictor
