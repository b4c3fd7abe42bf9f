#pragma once

#include <string>
#include <vector>

#include "predictor/overheads/overheads.h"

namespace understudy::predictor {

/// When the issuing thread is through with each of these operators, nanoseconds, as the seed sums
/// it up (owensgroup/ml_perf_model at 33f2994f): T1, then T5 of an operator without launches, else
/// T2
/// + its T4 + (n - 1) T5 + T3. Of one whose name starts with "Optimizer" that version counts T2 and
/// T3 twice and no T4. Throws Error (bad input): an operator that is not in `host`.
[[nodiscard]] std::vector<double> accumulate_as_published(
    const HostOverheads& host, const std::vector<std::string>& operators);

}  // namespace understudy::predictor
