#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <memory>

namespace understudy::replayer {

/// A span on a GPU's current stream that lasts as long as it is asked to, whatever is issued within
/// it: a kernel notes the time at its begin, another one waits at its end, by the GPU's own timer.
/// The host waits for neither. Both kernels come on top, some microseconds.
class StreamSpan {
 public:
  /// Loads the kernels, which takes milliseconds the first time. Null where they cannot be had: for
  /// devices other than CUDA's, without memory or with a driver that does not compile them.
  [[nodiscard]] static std::unique_ptr<StreamSpan> make(c10::Device device);

  void begin() const;
  /// Throws c10::Error where the driver refuses the launch; so does begin().
  void end(std::int64_t duration_ns) const;

 private:
  StreamSpan() = default;

  c10::Device device_{c10::kCPU};
  c10::Storage noted_;  ///< on the device: when it began
};

}  // namespace understudy::replayer
