#pragma once

#include <c10/core/Device.h>

#include <string>

#include "backends/job.h"

namespace understudy::replayer {

/// Whether two ranks have one GPU, which NCCL refuses. Each rank calls it with its own.
[[nodiscard]] bool do_ranks_share_gpus(backends::Job& job, c10::Device device);

/// Each rank calls it with what --device says and what was opened. Throws Error (usage) where two
/// ranks of a host have one GPU, or one instance of it, and `asked` does not name it.
void refuse_shared_gpu(backends::Job& job, const std::string& asked, c10::Device device);

}  // namespace understudy::replayer
