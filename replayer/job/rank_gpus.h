#pragma once

#include <c10/core/Device.h>

#include <string>

#include "replayer/backends/interface/job.h"

namespace understudy::replayer {

/// Returns true if two ranks use the same GPU, which NCCL rejects. Must be called by each rank with
/// its own device.
[[nodiscard]] bool do_ranks_share_gpus(backends::Job& job, c10::Device device);

/// Throws Error (usage) if two ranks of a host have the same GPU, or the same instance of one, and
/// `asked` does not name it. Must be called by each rank with the text of --device and the opened
/// device.
void refuse_shared_gpu(backends::Job& job, const std::string& asked, c10::Device device);

}  // namespace understudy::replayer
