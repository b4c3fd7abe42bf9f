#pragma once

#include <memory>
#include <string>

#include "replayer/backends/interface/backend.h"
#include "replayer/backends/interface/device_communicator.h"

namespace understudy::tests {

/// A backend with NCCL over it, so that tests of host memory also test NCCL's way. Each call that
/// it takes runs in the memory of the fake device, which is the host's, and waits there for its
/// end.
[[nodiscard]] std::unique_ptr<backends::Backend> make_device_backend(
    std::unique_ptr<backends::Backend> host, double time_limit_s);

/// What the fake of NCCL was asked on this rank since this was last called, a line each
/// (fake_nccl.cpp); empty where the tests do not use it.
[[nodiscard]] std::string nccl_log();
/// Connects to the played GPU: connect_devices() behind what is played in place of CUDA and NCCL.
[[nodiscard]] std::unique_ptr<backends::DeviceCommunicator> connect_played(
    backends::Backend& host, const backends::BackendOptions& options);

}  // namespace understudy::tests
