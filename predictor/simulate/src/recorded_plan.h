#pragma once

#include <optional>
#include <vector>

#include "plan.h"

namespace understudy::predictor {

/// Returns the plan of the recorded step, with each launch and wait at its recorded moment. Returns
/// nothing if the costs are not the recorded step's, or if the profile shows no device.
[[nodiscard]] std::optional<ProgramPlan> recorded_plan(const Program& program, const Flow& flow,
                                                       const Costs& costs,
                                                       std::vector<PlayedCost>& played);

}  // namespace understudy::predictor
