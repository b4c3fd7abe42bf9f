#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "et_schema/base/stretches.h"
#include "et_schema/formats/kineto/kineto.h"

namespace understudy::et_schema {

/// Returns an event's time interval. Negative durations count as 0; ends that overflow are clamped.
[[nodiscard]] inline Stretch stretch_of(const KinetoEvent& event) {
  std::int64_t end_ns = 0;
  const bool is_endless =
      __builtin_add_overflow(event.ts_ns, std::max<std::int64_t>(event.dur_ns, 0), &end_ns);
  return {event.ts_ns, is_endless ? std::numeric_limits<std::int64_t>::max() : end_ns};
}
[[nodiscard]] inline bool are_on_one_thread(const KinetoEvent& a, const KinetoEvent& b) {
  return a.pid == b.pid && a.tid == b.tid;
}

/// Returns true if the event is torch.profiler's mark of a step.
[[nodiscard]] bool is_profiler_step(const KinetoEvent& event);

/// An event on a host thread, and its position among nested events.
struct NestedEvent {
  const KinetoEvent* event = nullptr;
  std::optional<std::size_t> parent = {};  ///< position of the innermost event around it
  std::size_t end = 0;                     ///< one past the position of the last event in it
};

/// Returns the events for which `takes` returns true, nested by their times. Sorted by thread, then
/// by start; an event precedes the events that it encloses.
[[nodiscard]] std::vector<NestedEvent> nested_events(
    const Profile& profile, const std::function<bool(const KinetoEvent&)>& takes);

/// Returns the position of the innermost event open on the call's thread when the call began.
[[nodiscard]] std::optional<std::size_t> innermost_around(const std::vector<NestedEvent>& events,
                                                          const KinetoEvent& call);

}  // namespace understudy::et_schema
