#pragma once

#include "et_schema/model/trace.h"
#include "generator/link/link.h"

namespace understudy::generator {

/// Takes the times of a profiled step to those of the unprofiled one that the profile names, and
/// keeps the profiled one's length (RecordedProfile::profiled_step_ns). With a device's work they
/// stay: it does not scale with the host's. The difference in page faults is taken from, or given
/// to, the operators that allocate memory; one factor for all times makes up the rest
/// (docs/metrics.md, "Profiled and unprofiled").
void take_out_disturbance(const et_schema::Trace& trace, Link& link);

}  // namespace understudy::generator
