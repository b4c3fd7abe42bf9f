#pragma once

#include <vector>

#include "et_schema/model/lifetimes.h"
#include "et_schema/model/program.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Fills in what depends on lifetimes: stack entries that give their slot away, slots that each
/// step drops, slots that a step must leave their layout, results that nobody reads and that are
/// therefore not stored, and live_peak_bytes.
/// `uses` has those of each step, in the order of BoundProgram::steps.
void apply_liveness(const et_schema::Program& program, const std::vector<et_schema::SlotUse>& uses,
                    const et_schema::LifetimeScope& scope, BoundProgram& bound);

}  // namespace understudy::replayer
