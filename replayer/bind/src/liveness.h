#pragma once

#include <vector>

#include "et_schema/model/lifetimes.h"
#include "et_schema/model/program.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Sets the fields that depend on lifetimes: stack entries that move their slot, slots that each
/// step releases, slots whose layout a step must keep, results that nothing reads and that are not
/// stored, and live_peak_bytes. `uses` are those of each step, in the order of BoundProgram::steps.
void apply_liveness(const et_schema::Program& program, const std::vector<et_schema::SlotUse>& uses,
                    const et_schema::LifetimeScope& scope, BoundProgram& bound);

}  // namespace understudy::replayer
