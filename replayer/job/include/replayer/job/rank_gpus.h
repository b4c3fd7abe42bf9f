#pragma once

#include <c10/core/Device.h>

#include <string>

#include "backends/job.h"

namespace understudy::replayer {

/// Whether two ranks have the same GPU, which NCCL refuses. Each rank calls it with its own device.
[[nodiscard]] bool do_ranks_share_gpus(backends::Job& job, c10::Device device);

/// Each rank calls it with the text of --device and the device that was opened. Throws Error
/// (usage) if two ranks of a host have the same GPU, or the same instance of one, and `asked` does
/// not name it.
void refuse_shared_gpu(backends::Job& job, const std::string& asked, c10::Device device);

}  // namespace understudy::replayer
