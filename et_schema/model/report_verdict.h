#pragma once

#include <optional>
#include <string>
#include <utility>

#include "et_schema/base/assessment.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {

/// Returns the key and time of the recorded step that a replay's iteration is compared with: a step
/// recorded without the observer, else the profiled one. Unset if none is recorded, or if the
/// replay is only a part of the step.
[[nodiscard]] std::optional<std::pair<std::string, double>> compared_step(const Report& report);

/// Returns the time of an iteration and the coverage in a sentence; findings are warnings, and what
/// differs from the original.
[[nodiscard]] Assessment verdict_of(const Report& report);

}  // namespace understudy::et_schema
