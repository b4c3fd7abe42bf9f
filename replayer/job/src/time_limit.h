#pragma once

#include "et_schema/model/program.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// Returns the time limit: how long a rank that others wait for may make no progress. The limit is
/// 20 iterations of the slowest rank, estimated from its first one plus pace and planted slowdown.
/// It is at least a minute, for other load on the machine. Must be called by all ranks together;
/// all get the same limit.
[[nodiscard]] double default_time_limit_s(const et_schema::Program& program,
                                          const ReplayOptions& options, double first_iteration_ms,
                                          backends::Job& job);

}  // namespace understudy::replayer
