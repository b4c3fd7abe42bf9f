#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "bound_call.h"
#include "replayer/calibrator/measure/caller.h"
#include "replayer/device/device_timing.h"

namespace understudy::calibrator {

/// Times of a call, one entry a repetition.
struct DeviceSamples {
  std::vector<double> cold_ns;  ///< on the device, nothing of it in the device's caches
  std::vector<double> warm_ns;  ///< on the device, right behind the same call
  std::vector<double> host_ns;  ///< what the host takes to issue it
};

/// Times calls on a device by events around them. Before each a large block is written, which takes
/// the caches, and the device is held for as long as the host takes to issue the call: the host's
/// own time does not show.
class DeviceSampler {
 public:
  /// More than any GPU's second-level cache.
  static constexpr std::int64_t kSweptBytes = std::int64_t{256} << 20U;

  explicit DeviceSampler(c10::Device device, std::int64_t swept_bytes = kSweptBytes);

  [[nodiscard]] DeviceSamples sample(BoundCall& call, const TimingLimits& limits);

 private:
  /// The call on the device, nanoseconds; `host_ns`: on the host.
  double time(BoundCall& call, double& host_ns);

  at::Tensor swept_;
  replayer::DeviceTimer timer_;
};

}  // namespace understudy::calibrator
