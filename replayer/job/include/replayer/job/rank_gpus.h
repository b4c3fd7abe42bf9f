#pragma once

#include <c10/core/Device.h>

#include "backends/job.h"

namespace understudy::replayer {

/// Whether two ranks have one GPU, which NCCL refuses. Each rank calls it with its own.
[[nodiscard]] bool do_ranks_share_gpus(backends::Job& job, c10::Device device);

}  // namespace understudy::replayer
