#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "et_schema/support/stretches.h"

namespace understudy::et_schema {

/// One that ends before it begins takes no time.
[[nodiscard]] inline Stretch stretch_of(const KinetoEvent& event) {
  return {event.ts_ns, event.ts_ns + std::max<std::int64_t>(event.dur_ns, 0)};
}
[[nodiscard]] inline bool are_on_one_thread(const KinetoEvent& a, const KinetoEvent& b) {
  return a.pid == b.pid && a.tid == b.tid;
}

/// Whether the event is the mark that torch.profiler puts around a step.
[[nodiscard]] bool is_profiler_step(const KinetoEvent& event);

/// An event on a host thread, and where it lies among others.
struct NestedEvent {
  const KinetoEvent* event = nullptr;
  std::optional<std::size_t> parent = {};  ///< position of the innermost event around it
  std::size_t end = 0;                     ///< one past the position of the last event in it
};

/// The profile's events that `takes` says are taken, nested by their times: thread after thread,
/// those of a thread by their start, each before the events that it encloses.
[[nodiscard]] std::vector<NestedEvent> nested_events(
    const Profile& profile, const std::function<bool(const KinetoEvent&)>& takes);

/// The position of the innermost of the nested events that was open on the call's thread when the
/// call began.
[[nodiscard]] std::optional<std::size_t> innermost_around(const std::vector<NestedEvent>& events,
                                                          const KinetoEvent& call);

/// By what a device's event shares with the call of the runtime that launched it, its correlation:
/// the call ("External id" does not tell: docs/design.md, "Link").
using Launches = std::unordered_map<std::int64_t, const KinetoEvent*>;
[[nodiscard]] Launches launches_of(const Profile& profile);

}  // namespace understudy::et_schema
