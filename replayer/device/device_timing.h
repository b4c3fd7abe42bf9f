#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace understudy::replayer {

/// Measures the device time of a pass's spans by events on the current stream. The events are read
/// after one synchronisation at the end of the pass, so that the host runs ahead as it does without
/// timing. On the CPU the steady clock is used.
///
/// An idle device passes the first event at once; the host's time to issue the span would then
/// count as device time. So the first pass is a rehearsal (end_rehearsal()). In later passes the
/// device is held before each span for as long as the host needs to issue it. The events of a span
/// take time themselves. The rehearsal measures this time, and later passes subtract it.
class DeviceTimer {
 public:
  /// Creates the events of `spans` spans, one for each step of a program, and waits for the device.
  DeviceTimer(c10::Device device, std::size_t spans);

  /// Must be called before and after the work of a span is issued, once per pass.
  void begin(std::size_t span);
  void end(std::size_t span);

  /// Ends the first pass, in place of collect(). Records the host's time to issue each span.
  void end_rehearsal();

  /// Waits for the device and begins the next pass. Returns the device milliseconds of each span in
  /// the pass that ended; unset for spans that did not begin.
  [[nodiscard]] std::vector<std::optional<double>> collect();

 private:
  using Clock = std::chrono::steady_clock;

  struct Span {
    std::optional<c10::Event> begin;
    std::optional<c10::Event> end;
    Clock::time_point begin_time;
    Clock::time_point end_time;
    std::optional<double> issue_ms;  ///< the host's time to issue the span in the rehearsal
    bool is_used = false;
  };

  void prepare(std::vector<Span>& spans) const;
  void record(c10::Event& event) const;
  [[nodiscard]] double time_of_nothing_ms() const;
  [[nodiscard]] static double host_ms(const Span& span);

  c10::Device device_;
  std::vector<Span> spans_;
  double own_ms_ = 0;  ///< time of a span's events
};

}  // namespace understudy::replayer
