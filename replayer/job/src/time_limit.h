#pragma once

#include "et_schema/model/program.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// Seconds for which a rank that others wait for may make no progress: many iterations of the
/// slowest rank, judged by its first one and by what pace and a planted slowdown add to it, and at
/// least a minute, for other work of the machine. All ranks of the job call it together and get the
/// same.
[[nodiscard]] double default_time_limit_s(const et_schema::Program& program,
                                          const ReplayOptions& options, double first_iteration_ms,
                                          backends::Job& job);

}  // namespace understudy::replayer
