#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/link.h"
#include "generator/selection/selection.h"

namespace understudy::generator {

/// Gives each instruction the times of its node, and the program what is known of the profile. An
/// operator that was opened and runs too, after its parts, gets the time that was left when the
/// last of them had ended; so does a label that did work. Operators that were opened keep the sum
/// of what was in none of their parts. What of the step's time stands in no instruction is named by
/// its reason (RecordedProfile::outside), so that all of it adds up.
void set_timings(const et_schema::Trace& trace, const Link& link, const Flow& flow,
                 const Selected& selected, et_schema::Program& program);

}  // namespace understudy::generator
