#include "et_schema/formats/kineto/nested_events.h"

#include <algorithm>
#include <tuple>

namespace understudy::et_schema {

bool is_profiler_step(const KinetoEvent& event) {
  return event.category == KinetoCategory::kUserAnnotation &&
         event.name.starts_with("ProfilerStep#");
}

std::vector<NestedEvent> nested_events(const Profile& profile,
                                       const std::function<bool(const KinetoEvent&)>& takes) {
  std::vector<NestedEvent> events;
  for (const KinetoEvent& event : profile.events) {
    if (takes(event)) {
      events.push_back({.event = &event});
    }
  }
  // If times in whole microseconds are equal, "External id" decides, which increases with time.
  const bool have_ids = std::ranges::all_of(
      events, [](const NestedEvent& nested) { return nested.event->external_id > 0; });
  std::ranges::stable_sort(events, {}, [have_ids](const NestedEvent& nested) {
    const KinetoEvent& event = *nested.event;
    return std::tuple(event.pid, event.tid, event.ts_ns, have_ids ? event.external_id : 0,
                      -event.dur_ns);
  });
  std::vector<std::size_t> open;
  const auto close = [&](std::size_t position) {
    events[open.back()].end = position;
    open.pop_back();
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const KinetoEvent& event = *events[i].event;
    const auto is_over = [&](const KinetoEvent& other) {
      return !are_on_one_thread(other, event) || stretch_of(other).end_ns <= event.ts_ns;
    };
    while (!open.empty() && is_over(*events[open.back()].event)) {
      close(i);
    }
    if (!open.empty()) {
      events[i].parent = open.back();
    }
    open.push_back(i);
  }
  while (!open.empty()) {
    close(events.size());
  }
  return events;
}

std::optional<std::size_t> innermost_around(const std::vector<NestedEvent>& events,
                                            const KinetoEvent& call) {
  const auto place = [](const KinetoEvent& event) {
    return std::tuple(event.pid, event.tid, event.ts_ns);
  };
  const auto after = std::ranges::upper_bound(
      events, place(call), {},
      [&place](const NestedEvent& nested) { return place(*nested.event); });
  std::optional<std::size_t> around;
  if (after != events.begin()) {
    around = static_cast<std::size_t>(after - events.begin()) - 1;
  }
  const auto is_open = [&call](const KinetoEvent& event) {
    return are_on_one_thread(event, call) && call.ts_ns <= stretch_of(event).end_ns;
  };
  while (around && !is_open(*events[*around].event)) {
    around = events[*around].parent;
  }
  return around;
}

}  // namespace understudy::et_schema
