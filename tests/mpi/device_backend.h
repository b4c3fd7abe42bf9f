#pragma once

#include <memory>

#include "backends/backend.h"

namespace understudy::tests {

/// A backend with NCCL over it, so that tests of host memory also test NCCL's way. Each call that
/// it takes runs in the memory of the fake device, which is the host's, and waits there for its
/// end.
[[nodiscard]] std::unique_ptr<backends::Backend> make_device_backend(
    std::unique_ptr<backends::Backend> host, double time_limit_s);

}  // namespace understudy::tests
