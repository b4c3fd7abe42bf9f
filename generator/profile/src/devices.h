#pragma once

#include <span>
#include <vector>

#include "calls.h"
#include "generator/link/device.h"
#include "tensors.h"

namespace understudy::generator {

/// The tensors of a call: its arguments, then its results.
struct CallTensors {
  std::vector<SeenIndex> inputs;
  std::vector<SeenIndex> results;
};

/// Tells on which device storages lie, where no allocation did: the two ends of a copy by its
/// kind; what an operator that launched kernels works on is on the device, but for scalars that
/// Python made tensors; numbers that an operator changed without a kernel are on the host. What
/// nothing tells is on the device if the profile has one.
void find_devices(const HostEvents& host, const DeviceEvents& device,
                  std::span<const CallTensors> tensors_of, Tensors& tensors);

}  // namespace understudy::generator
