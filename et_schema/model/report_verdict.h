#pragma once

#include "et_schema/base/assessment.h"
#include "et_schema/model/report_fields.h"

namespace understudy::et_schema {

/// Returns the recorded step that a replay's iteration is compared with: a step recorded without
/// the observer, else the profiled one. Null if none is recorded, or if the replay is only a part
/// of the step.
[[nodiscard]] const FigureRow<OriginalStep>* compared_step(const Report& report);

/// Returns the time of an iteration and the coverage in a sentence; findings are warnings, and what
/// differs from the original.
[[nodiscard]] Assessment verdict_of(const Report& report);

}  // namespace understudy::et_schema
