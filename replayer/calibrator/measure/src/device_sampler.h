#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "bound_call.h"
#include "replayer/calibrator/measure/caller.h"
#include "replayer/device/device_timing.h"

namespace understudy::calibrator {

/// Times of a call, one entry per repetition.
struct DeviceSamples {
  std::vector<double> cold_ns;  ///< on the device, with none of its data in the device's caches
  std::vector<double> warm_ns;  ///< on the device, directly after the same call
  std::vector<double> host_ns;  ///< on the host, to issue the call
};

/// Times calls on a device by events around them. Before each call a large block is written, which
/// fills the caches. The device is also kept busy while the host issues the call, so that the
/// host's time is not measured.
class DeviceSampler {
 public:
  /// More than any GPU's second-level cache.
  static constexpr std::int64_t kSweptBytes = std::int64_t{256} << 20U;

  explicit DeviceSampler(c10::Device device, std::int64_t swept_bytes = kSweptBytes);

  [[nodiscard]] DeviceSamples sample(BoundCall& call, const TimingLimits& limits);

 private:
  /// Returns the nanoseconds of the call on the device; sets `host_ns` to those on the host.
  double time(BoundCall& call, double& host_ns);

  at::Tensor swept_;
  replayer::DeviceTimer timer_;
};

}  // namespace understudy::calibrator
