#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace understudy::replayer {

/// Times the spans of a pass on a device, by events on its current stream. They are read after one
/// synchronisation at the end of the pass, so that the host runs ahead as it does when nothing is
/// timed. On the CPU it uses the steady clock.
///
/// An idle device passes the first event at once, and then the time that the host takes to issue
/// the span would count as the span's. So the first pass is a rehearsal (end_rehearsal()); in later
/// passes the device is held before each span for as long as the host takes to issue it. An empty
/// span takes time too, that of its own events. The rehearsal measures this time, and later passes
/// subtract it.
class DeviceTimer {
 public:
  /// `spans` is the number of spans, the steps of a program. Creates their events and waits for the
  /// device.
  DeviceTimer(c10::Device device, std::size_t spans);

  /// Call these before and after the work of a span is issued, once per pass.
  void begin(std::size_t span);
  void end(std::size_t span);

  /// Ends a pass in place of collect(); from now on the time that the host takes to issue each span
  /// is known.
  void end_rehearsal();

  /// Waits for the device. By span: its milliseconds on the device in this pass; none for spans
  /// that did not begin. Then the next pass begins.
  [[nodiscard]] std::vector<std::optional<double>> collect();

 private:
  using Clock = std::chrono::steady_clock;

  struct Span {
    std::optional<c10::Event> begin;
    std::optional<c10::Event> end;
    Clock::time_point begin_time;
    Clock::time_point end_time;
    std::optional<double> issue_ms;  ///< the host's time for it in the rehearsal
    bool is_used = false;
  };

  void prepare(std::vector<Span>& spans) const;
  void record(c10::Event& event) const;
  [[nodiscard]] double time_of_nothing_ms() const;
  [[nodiscard]] static double host_ms(const Span& span);

  c10::Device device_;
  std::vector<Span> spans_;
  double own_ms_ = 0;  ///< time of the events of a span
};

}  // namespace understudy::replayer
