#include "device_steps.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "et_schema/formats/kineto/nested_events.h"

namespace understudy::et_schema {
namespace {

std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t ns = 0;
  return __builtin_sub_overflow(a, b, &ns) ? std::numeric_limits<std::int64_t>::max() : ns;
}

/// Returns for each step the median time from its work to the same work of the next step. The same
/// work is the k-th event on a stream that has equally many events in both steps. Without such
/// work, returns the time between the starts of the marks.
std::vector<std::int64_t> distances_to_next(const DeviceTimeline& timeline) {
  const std::vector<DeviceStep>& steps = timeline.steps;
  std::vector<std::vector<std::int64_t>> distances(steps.size() - 1);
  for (const DeviceStream& stream : timeline.streams) {
    std::vector<std::vector<std::int64_t>> starts(steps.size());
    for (const EventIndex i : stream.events) {
      if (const DeviceEvent& event = timeline.events[i]; event.step != kUnknownEvent) {
        starts[event.step].push_back(event.start_ns);
      }
    }
    for (std::size_t i = 0; i < distances.size(); ++i) {
      for (std::size_t k = 0; k < starts[i].size() && starts[i].size() == starts[i + 1].size();
           ++k) {
        distances[i].push_back(difference(starts[i + 1][k], starts[i][k]));
      }
    }
  }
  std::vector<std::int64_t> medians;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (distances[i].empty()) {
      distances[i].push_back(difference(steps[i + 1].mark.start_ns, steps[i].mark.start_ns));
    }
    const auto middle = distances[i].begin() + static_cast<std::ptrdiff_t>(distances[i].size() / 2);
    std::ranges::nth_element(distances[i], middle);
    medians.push_back(*middle);
  }
  return medians;
}

/// Removes from its step the work that was launched before the profile began: on each stream, the
/// events of unknown launches before the first event of a known launch.
void drop_backlog(DeviceTimeline& timeline) {
  for (const DeviceStream& stream : timeline.streams) {
    const auto is_known = [&](EventIndex i) { return timeline.events[i].call != kUnknownEvent; };
    const auto first = std::ranges::find_if(stream.events, is_known);
    if (first != stream.events.end()) {
      std::for_each(stream.events.begin(), first,
                    [&](EventIndex i) { timeline.events[i].step = kUnknownEvent; });
    }
  }
}

}  // namespace

std::vector<DeviceStep> marked_steps(const Profile& profile) {
  std::vector<const KinetoEvent*> marks;
  for (const KinetoEvent& event : profile.events) {
    if (is_profiler_step(event)) {
      marks.push_back(&event);
    }
  }
  std::ranges::stable_sort(marks, {}, &KinetoEvent::ts_ns);
  std::vector<DeviceStep> steps(marks.empty() ? 1 : 0);
  for (const KinetoEvent* mark : marks) {
    const Stretch stretch = stretch_of(*mark);
    // Several threads may mark one step.
    if (!steps.empty() && steps.back().name == mark->name &&
        stretch.start_ns < steps.back().mark.end_ns) {
      steps.back().mark.end_ns = std::max(steps.back().mark.end_ns, stretch.end_ns);
    } else {
      steps.emplace_back();
      steps.back().name = mark->name;
      steps.back().mark = stretch;
    }
  }
  return steps;
}

void sum_steps(const Profile& profile, DeviceTimeline& timeline) {
  std::vector<DeviceStep>& steps = timeline.steps;
  if (steps.front().name.empty()) {
    Stretches all = DeviceTimeline::busy(timeline.events);
    for (const KinetoEvent& event : profile.events) {
      if (event.category == KinetoCategory::kCpuOp) {
        all.push_back(stretch_of(event));
      }
    }
    if (!all.empty()) {
      steps.front().mark = {std::ranges::min_element(all, {}, &Stretch::start_ns)->start_ns,
                            std::ranges::max_element(all, {}, &Stretch::end_ns)->end_ns};
    }
  }
  std::vector<std::int64_t> work_end_ns;
  for (const DeviceStep& step : steps) {
    work_end_ns.push_back(step.mark.start_ns);
  }
  for (const DeviceEvent& event : timeline.events) {
    if (event.step != kUnknownEvent) {
      work_end_ns[event.step] = std::max(work_end_ns[event.step], event.end_ns);
    }
  }
  bool is_ahead = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].end_ns = std::max(steps[i].mark.end_ns, work_end_ns[i]);
    is_ahead |= i + 1 < steps.size() && work_end_ns[i] > steps[i + 1].mark.start_ns;
  }
  if (is_ahead) {
    drop_backlog(timeline);
  }
  const std::vector<std::int64_t> distances_ns =
      is_ahead ? distances_to_next(timeline) : std::vector<std::int64_t>();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].length_ns = !is_ahead ? difference(steps[i].end_ns, steps[i].mark.start_ns)
                         : i < distances_ns.size() ? distances_ns[i]
                                                   : difference(work_end_ns[i], work_end_ns[i - 1]);
  }
}

EventIndex DeviceTimeline::step_at(std::int64_t time_ns) const {
  const auto next = std::ranges::upper_bound(
      steps, time_ns, {}, [](const DeviceStep& step) { return step.mark.start_ns; });
  // Work launched before the only step belongs to that step.
  return steps.size() == 1 ? 0 : static_cast<EventIndex>(next - steps.begin()) - 1;
}

bool DeviceTimeline::is_incomplete() const {
  return std::ranges::all_of(steps, [](const DeviceStep& step) { return step.lost > 0; });
}

std::vector<EventIndex> DeviceTimeline::usable_steps() const {
  const bool is_any = is_incomplete();
  std::vector<EventIndex> usable;
  for (EventIndex i = 0; i < steps.size(); ++i) {
    if (steps[i].lost == 0 || is_any) {
      usable.push_back(i);
    }
  }
  return usable;
}

Stretches DeviceTimeline::busy(const std::vector<DeviceEvent>& events) {
  Stretches work;
  for (const DeviceEvent& event : events) {
    work.push_back(event.stretch());
  }
  return merged_stretches(std::move(work));
}

}  // namespace understudy::et_schema
