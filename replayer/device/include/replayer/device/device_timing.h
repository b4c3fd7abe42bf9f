#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace understudy::replayer {

/// Times spans of a pass on a device: by events on its current stream, which are read after one
/// synchronisation at the end of the pass, so that the host runs ahead as it does untimed. On the
/// CPU the steady clock.
class DeviceTimer {
 public:
  /// `spans`: how many there are, the steps of a program. Makes their events and waits for the
  /// device.
  DeviceTimer(c10::Device device, std::size_t spans);

  /// Around what is issued for a span; once a pass.
  void begin(std::size_t span);
  void end(std::size_t span);

  /// Waits for the device. By span: milliseconds on it in this pass; none for those that were not
  /// begun. The next pass begins.
  [[nodiscard]] std::vector<std::optional<double>> collect();

 private:
  using Clock = std::chrono::steady_clock;

  struct Span {
    std::optional<c10::Event> begin;
    std::optional<c10::Event> end;
    Clock::time_point begin_time;
    Clock::time_point end_time;
    bool is_used = false;
  };

  void record(c10::Event& event) const;

  c10::Device device_;
  std::vector<Span> spans_;
};

}  // namespace understudy::replayer
