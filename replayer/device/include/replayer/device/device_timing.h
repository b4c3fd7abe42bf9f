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
///
/// A device that has nothing to do passes the first event at once, and what the host then takes to
/// issue the span would be its time. So the first pass is a rehearsal (end_rehearsal()), and in
/// those behind it the device is held before each span for as long as the host takes to issue it.
/// A span with nothing in it takes time too, that of its own events: the rehearsal measures it, and
/// later passes are without it.
class DeviceTimer {
 public:
  /// `spans`: how many there are, the steps of a program. Makes their events and waits for the
  /// device.
  DeviceTimer(c10::Device device, std::size_t spans);

  /// Around what is issued for a span; once a pass.
  void begin(std::size_t span);
  void end(std::size_t span);

  /// Ends a pass in place of collect(): how long the host took to issue each span is known.
  void end_rehearsal();

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
    std::optional<double> issue_ms;  ///< what the host took, in the rehearsal
    bool is_used = false;
  };

  void prepare(std::vector<Span>& spans) const;
  void record(c10::Event& event) const;
  [[nodiscard]] double time_of_nothing_ms() const;
  [[nodiscard]] static double host_ms(const Span& span);

  c10::Device device_;
  std::vector<Span> spans_;
  double own_ms_ = 0;  ///< of a span's events
};

}  // namespace understudy::replayer
