#pragma once

#include <optional>
#include <string>
#include <vector>

#include "et_schema/base/assessment.h"
#include "fleet/comparer/compare.h"
#include "fleet/comparer/device_work.h"

namespace understudy::comparer {

/// Returns "matmul", "gap (outside of operators)".
[[nodiscard]] std::string label_of(const Row& row);

/// Returns in a sentence what is slower, faster, shown to be the same, or unsure; findings are what
/// makes the comparison less sure, and advice. `devices`: unset if a side has none.
[[nodiscard]] et_schema::Assessment verdict_of(const Comparison& comparison,
                                               const std::vector<Run>& a, const std::vector<Run>& b,
                                               const std::optional<DeviceComparison>& devices);

}  // namespace understudy::comparer
