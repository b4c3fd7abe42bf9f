#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <memory>

namespace understudy::replayer {

/// A span on a GPU's current stream that lasts as long as end() asks, whatever is issued within it.
/// A kernel notes the time at its begin, and another kernel waits at its end, by the GPU's own
/// timer. The host waits for neither. Both kernels add some microseconds.
class StreamSpan {
 public:
  /// Loads the kernels, which takes milliseconds the first time. Null if that is impossible: for
  /// devices other than CUDA's, without memory, or with a driver that does not compile them.
  [[nodiscard]] static std::unique_ptr<StreamSpan> make(c10::Device device);

  void begin() const;
  /// Throws c10::Error if the driver refuses the launch; so does begin().
  void end(std::int64_t duration_ns) const;

 private:
  StreamSpan() = default;

  c10::Device device_{c10::kCPU};
  c10::Storage noted_;  ///< on the device: the time when it began
};

}  // namespace understudy::replayer
