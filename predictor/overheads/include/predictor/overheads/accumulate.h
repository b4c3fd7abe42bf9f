#pragma once

#include <string>
#include <vector>

#include "predictor/overheads/overheads.h"

namespace understudy::predictor {

/// When the issuing thread has finished each of these operators, in nanoseconds, as the published
/// code sums it up (owensgroup/ml_perf_model at 33f2994f): T1, then T5 of an operator without
/// launches, otherwise T2 + its T4 + (n - 1) T5 + T3. For an operator whose name starts with
/// "Optimizer" that version counts T2 and T3 twice and no T4. Throws Error (bad input) for an
/// operator that is not in `host`.
[[nodiscard]] std::vector<double> accumulate_as_published(
    const HostOverheads& host, const std::vector<std::string>& operators);

}  // namespace understudy::predictor
