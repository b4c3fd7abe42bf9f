#pragma once

#include "et_schema/base/assessment.h"
#include "fleet/analysis/platforms.h"

namespace understudy::fleet {

/// Returns in a sentence which platform is the fastest; findings are limits of the comparison.
[[nodiscard]] et_schema::Assessment verdict_of(const PlatformComparison& data);
/// Returns how one of its platforms compares with the baseline.
[[nodiscard]] et_schema::Assessment verdict_of(const PlatformComparison& data,
                                               const PlatformSummary& platform);

}  // namespace understudy::fleet
