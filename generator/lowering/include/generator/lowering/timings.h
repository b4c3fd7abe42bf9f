#pragma once

#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/link.h"
#include "generator/selection/selection.h"

namespace understudy::generator {

/// Gives each instruction the times of its node, and the program what is known of the profile. An
/// opened operator that runs too, after its parts, gets the time that is left after the last part
/// ended; so does a label that did work. Other opened operators keep the sum of the times outside
/// of their parts. The step's time that lies in no instruction is recorded under its reason
/// (RecordedProfile::outside), so that everything adds up; that of calls of communication that are
/// not known (`unknown`) is among it.
void set_timings(const et_schema::Trace& trace, const Link& link, const Flow& flow,
                 const Selected& selected, const std::vector<et_schema::NodeIndex>& unknown,
                 et_schema::Program& program);

}  // namespace understudy::generator
