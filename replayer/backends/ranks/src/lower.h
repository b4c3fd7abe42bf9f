#pragma once

#include "group.h"
#include "replayer/backends/interface/communicator.h"
#include "schedule.h"

namespace understudy::backends {

/// Adds a checked call's steps to a schedule. The steps keep references to `call` and `group`,
/// which must outlive the schedule.
void lower(const Call& call, const Group& group, Schedule& schedule);

}  // namespace understudy::backends
