#pragma once

#include <memory>

#include "backends/backend.h"

namespace understudy::tests {

/// The backend with NCCL over it, so that tests of host memory try NCCL's way: each call that it
/// takes runs in the memory of the fake device, which is the host's, and is waited for there.
[[nodiscard]] std::unique_ptr<backends::Backend> make_device_backend(
    std::unique_ptr<backends::Backend> host, double time_limit_s);

}  // namespace understudy::tests
