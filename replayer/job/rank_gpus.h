#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "replayer/backends/interface/device_communicator.h"
#include "replayer/backends/interface/job.h"

namespace understudy::replayer {

/// Returns true if two ranks use the same GPU, which NCCL rejects. Must be called by each rank with
/// its own device.
[[nodiscard]] bool do_ranks_share_gpus(backends::Job& job, c10::Device device);

/// Throws Error (usage) if two ranks of a host have the same GPU, or the same instance of one, and
/// `asked` does not name it. Must be called by each rank with the text of --device and the opened
/// device.
void refuse_shared_gpu(backends::Job& job, const std::string& asked, c10::Device device);

/// Returns the communicator between the ranks' GPUs (NCCL); null for the CPU, whose ranks use the
/// backend. Must be called by each rank with its own device. Throws Error (usage) if ranks share a
/// GPU.
[[nodiscard]] std::unique_ptr<backends::DeviceCommunicator> connect_gpus(backends::Backend& backend,
                                                                         c10::Device device);

}  // namespace understudy::replayer
