#pragma once

#include <vector>

#include "predictor/card/card.h"
#include "predictor/rows/call.h"

namespace understudy::predictor {

/// The card with the peaks that are 0 taken from calls measured on it: FLOPs and bytes a second of
/// the fastest hundredth of calls. A cache that is not told is taken as 32 MiB, processors as 1.
/// What was found so is named in `source`.
[[nodiscard]] Card with_measured_peaks(Card card, const std::vector<const MeasuredCall*>& calls);

}  // namespace understudy::predictor
