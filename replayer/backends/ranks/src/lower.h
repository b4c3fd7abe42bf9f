#pragma once

#include "group.h"
#include "replayer/backends/interface/communicator.h"
#include "schedule.h"

namespace understudy::backends {

/// Number of tags that one call may use: its own and the next.
inline constexpr int kTagsOfCall = 2;

/// Adds a checked call's steps to a schedule. The steps keep references to `call` and `group`,
/// which must outlive the schedule. A wire without collectives exchanges messages instead. Among
/// the group's calls in progress, only this one may use `tag`.
void lower(const Call& call, const Group& group, bool has_collectives, int tag, Schedule& schedule);

}  // namespace understudy::backends
