#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace understudy::replayer::testing {

/// A device that plays one with streams and events and computes nothing: LibTorch's guard for
/// devices of others, which writes down what it is asked for.
class FakeDevice {
 public:
  static constexpr double kElapsedMs = 1.25;  ///< between any two of its events

  [[nodiscard]] static c10::Device device() { return c10::Device(c10::kPrivateUse1, 0); }
  /// Forgets what was asked for, and fails no more.
  static void reset();
  /// "event" (recorded for the first time), "record", "synchronize", in order.
  [[nodiscard]] static const std::vector<std::string>& log();
  /// So many waits for the device throw, as after a kernel that went wrong.
  static void fail_synchronizations(int count);
};

}  // namespace understudy::replayer::testing
