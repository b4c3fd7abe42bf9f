#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <vector>

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

/// Returns true if ProcessGroupNCCL reduces as the call does. It lacks 16-bit and unsigned
/// integers, bitwise operations, products of complex numbers, and dtypes that can only be moved.
[[nodiscard]] bool reduces_on_device(const Call& call);

/// Issues a call in this device's memory; it must pass check_call() and, if it reduces,
/// reduces_on_device(). What only moves data moves bytes: PyTorch has no name for some dtypes that
/// programs move. A call that is not `asynchronous` runs on the current stream if this PyTorch does
/// so (2.8 and later), and may return no work.
[[nodiscard]] Works issue(const Call& call, c10d::ProcessGroupNCCL& group, c10::Device device,
                          bool asynchronous);

}  // namespace understudy::backends
