#include "replayer/device/device_timing.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "replayer/device/device.h"

namespace understudy::replayer {

DeviceTimer::DeviceTimer(c10::Device device, std::size_t spans) : device_(device), spans_(spans) {
  prepare(spans_);
}

void DeviceTimer::prepare(std::vector<Span>& spans) const {
  if (device_.is_cpu()) {
    return;
  }
  for (Span& span : spans) {
    for (std::optional<c10::Event>* const event : {&span.begin, &span.end}) {
      event->emplace(device_.type(),
                     c10::EventFlag::BACKEND_DEFAULT);  // the default flag disables timing
      record(**event);  // creates the device's event, which must not happen in a pass
    }
  }
  synchronize(device_);
}

void DeviceTimer::record(c10::Event& event) const {
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

void DeviceTimer::begin(std::size_t span) {
  Span& timed = spans_[span];
  timed.is_used = true;
  if (timed.issue_ms) {
    constexpr double kMoreThanThat = 1.5;
    constexpr double kLeastMs = 0.01;
    static_cast<void>(hold_stream(device_, kMoreThanThat * *timed.issue_ms + kLeastMs));
  }
  timed.begin_time = Clock::now();
  if (!device_.is_cpu()) {
    record(*timed.begin);
  }
}

void DeviceTimer::end(std::size_t span) {
  if (!device_.is_cpu()) {
    record(*spans_[span].end);
  }
  spans_[span].end_time = Clock::now();
}

void DeviceTimer::end_rehearsal() {
  synchronize(device_);
  for (Span& span : spans_) {
    if (span.is_used && !device_.is_cpu()) {
      span.issue_ms = host_ms(span);
    }
    span.is_used = false;
  }
  own_ms_ = device_.is_cpu() ? 0 : time_of_nothing_ms();
}

double DeviceTimer::time_of_nothing_ms() const {
  constexpr std::size_t kSpans = 21;
  constexpr double kLongerThanTheirIssue = 0.05;
  std::vector<Span> empty(kSpans);
  prepare(empty);
  for (Span& span : empty) {
    static_cast<void>(hold_stream(device_, kLongerThanTheirIssue));
    record(*span.begin);
    record(*span.end);
  }
  synchronize(device_);
  std::vector<double> times_ms;
  for (const Span& span : empty) {
    times_ms.push_back(span.begin->elapsedTime(*span.end));
  }
  std::ranges::sort(times_ms);
  return times_ms[kSpans / 2];
}

double DeviceTimer::host_ms(const Span& span) {
  return std::chrono::duration<double, std::milli>(span.end_time - span.begin_time).count();
}

std::vector<std::optional<double>> DeviceTimer::collect() {
  synchronize(device_);
  std::vector<std::optional<double>> times;
  times.reserve(spans_.size());
  for (Span& span : spans_) {
    if (!span.is_used) {
      times.emplace_back();
    } else if (device_.is_cpu()) {
      times.emplace_back(host_ms(span));
    } else {
      times.emplace_back(std::max(span.begin->elapsedTime(*span.end) - own_ms_, 0.0));
    }
    span.is_used = false;
  }
  return times;
}

}  // namespace understudy::replayer
