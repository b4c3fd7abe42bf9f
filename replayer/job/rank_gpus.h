#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "replayer/backends/interface/device_communicator.h"
#include "replayer/backends/interface/job.h"

namespace understudy::replayer {

/// Whether two ranks have the same GPU, which NCCL refuses. Each rank calls it with its own device.
[[nodiscard]] bool do_ranks_share_gpus(backends::Job& job, c10::Device device);

/// Each rank calls it with the text of --device and the device that was opened. Throws Error
/// (usage) if two ranks of a host have the same GPU, or the same instance of one, and `asked` does
/// not name it.
void refuse_shared_gpu(backends::Job& job, const std::string& asked, c10::Device device);

/// What moves bytes between the ranks' GPUs, NCCL; nothing on a CPU, whose ranks have the backend.
/// Each rank calls it with its own device. Throws Error (usage) where ranks share a GPU.
[[nodiscard]] std::unique_ptr<backends::DeviceCommunicator> connect_gpus(backends::Backend& backend,
                                                                         c10::Device device);

}  // namespace understudy::replayer
