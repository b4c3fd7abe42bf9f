#pragma once

#include <optional>
#include <vector>

#include "plan.h"

namespace understudy::predictor {

/// The plan of the step that was recorded, with each launch and wait at its moment; nothing if the
/// costs are not that step's, or the profile shows no device.
[[nodiscard]] std::optional<ProgramPlan> recorded_plan(const Program& program, const Flow& flow,
                                                       const Costs& costs,
                                                       std::vector<PlayedCost>& played);

}  // namespace understudy::predictor
