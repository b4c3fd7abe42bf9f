#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <memory>

namespace understudy::replayer {

/// A span on a GPU's current stream that lasts as long as end() requests, independent of the work
/// issued within. A kernel stores the GPU timer's time at the begin, and another kernel waits at
/// the end. The host waits for neither. Both kernels add some microseconds.
class StreamSpan {
 public:
  /// Loads the kernels, which takes milliseconds the first time. Returns null if the device is not
  /// CUDA's or has no free memory, or if the driver does not compile the kernels.
  [[nodiscard]] static std::unique_ptr<StreamSpan> make(c10::Device device);

  void begin() const;
  /// Throws c10::Error if the driver rejects the launch; so does begin().
  void end(std::int64_t duration_ns) const;

 private:
  StreamSpan() = default;

  c10::Device device_{c10::kCPU};
  c10::Storage noted_;  ///< on the device: the time of begin()
};

}  // namespace understudy::replayer
