#include "device_steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "et_schema/kineto/nested_events.h"

namespace understudy::et_schema {
namespace {

/// When the work of one name began on one stream.
using Starts = std::map<std::pair<EventIndex, std::string_view>, std::vector<std::int64_t>>;

constexpr std::int64_t kMostNs = std::numeric_limits<std::int64_t>::max();

std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t ns = 0;
  return __builtin_sub_overflow(a, b, &ns) ? kMostNs : ns;
}

std::vector<Starts> starts_by_step(const Profile& profile, const DeviceTimeline& timeline) {
  std::vector<Starts> starts(timeline.steps.size());
  for (const DeviceStream& stream : timeline.streams) {
    for (const EventIndex i : stream.events) {
      const DeviceEvent& event = timeline.events[i];
      if (event.step != kUnknownEvent) {
        starts[event.step][{event.stream, profile.events[event.source].name}].push_back(
            event.start_ns);
      }
    }
  }
  return starts;
}

/// The median distance between the same work of two steps; nothing if they share none.
std::optional<std::int64_t> distance(const Starts& a, const Starts& b) {
  std::vector<std::int64_t> distances;
  for (const auto& [work, times] : a) {
    const auto same = b.find(work);
    for (std::size_t i = 0; same != b.end() && i < times.size(); ++i) {
      if (same->second.size() == times.size()) {
        distances.push_back(difference(same->second[i], times[i]));
      }
    }
  }
  if (distances.empty()) {
    return std::nullopt;
  }
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return *middle;
}

/// `work_end_ns`: by step, of its last work.
void set_lengths(const Profile& profile, const std::vector<std::int64_t>& work_end_ns,
                 DeviceTimeline& timeline) {
  std::vector<DeviceStep>& steps = timeline.steps;
  bool is_ahead = false;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    is_ahead = is_ahead || steps[i].end_ns > steps[i + 1].mark.start_ns;
  }
  const std::vector<Starts> starts =
      is_ahead ? starts_by_step(profile, timeline) : std::vector<Starts>();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!is_ahead) {
      steps[i].length_ns = difference(steps[i].end_ns, steps[i].mark.start_ns);
    } else if (i + 1 == steps.size()) {
      steps[i].length_ns = difference(work_end_ns[i], work_end_ns[i - 1]);
    } else {
      steps[i].length_ns =
          distance(starts[i], starts[i + 1])
              .value_or(difference(steps[i + 1].mark.start_ns, steps[i].mark.start_ns));
    }
  }
}

/// From the first operator or device event to the end of the last one.
Stretch whole(const Profile& profile, const DeviceTimeline& timeline) {
  Stretches all;
  for (const DeviceEvent& event : timeline.events) {
    all.push_back(event.stretch());
  }
  for (const KinetoEvent& event : profile.events) {
    if (event.category == KinetoCategory::kCpuOp) {
      all.push_back(stretch_of(event));
    }
  }
  return all.empty() ? Stretch{}
                     : Stretch{std::ranges::min(all, {}, &Stretch::start_ns).start_ns,
                               std::ranges::max(all, {}, &Stretch::end_ns).end_ns};
}

}  // namespace

std::vector<DeviceStep> marked_steps(const Profile& profile) {
  std::map<std::string_view, Stretch> marks;
  for (const KinetoEvent& event : profile.events) {
    if (is_profiler_step(event)) {
      Stretch& mark = marks.try_emplace(event.name, stretch_of(event)).first->second;
      mark.start_ns = std::min(mark.start_ns, event.ts_ns);
      mark.end_ns = std::max(mark.end_ns, stretch_of(event).end_ns);
    }
  }
  std::vector<DeviceStep> steps(std::max<std::size_t>(marks.size(), 1));
  auto step = steps.begin();
  for (const auto& [name, mark] : marks) {
    step->name = name;
    step++->mark = mark;
  }
  std::ranges::stable_sort(steps, {}, [](const DeviceStep& one) { return one.mark.start_ns; });
  return steps;
}

void sum_steps(const Profile& profile, DeviceTimeline& timeline) {
  if (timeline.steps.front().name.empty()) {
    timeline.steps.front().mark = whole(profile, timeline);
  }
  std::vector<std::int64_t> work_end_ns;
  for (DeviceStep& step : timeline.steps) {
    step.end_ns = step.mark.end_ns;
    work_end_ns.push_back(step.mark.start_ns);
  }
  for (const DeviceEvent& event : timeline.events) {
    if (event.step != kUnknownEvent) {
      DeviceStep& step = timeline.steps[event.step];
      ++step.events;
      step.end_ns = std::max(step.end_ns, event.end_ns);
      work_end_ns[event.step] = std::max(work_end_ns[event.step], event.end_ns);
      if (__builtin_add_overflow(step.device_ns, event.ns(), &step.device_ns)) {
        step.device_ns = kMostNs;
      }
    }
  }
  set_lengths(profile, work_end_ns, timeline);
}

EventIndex DeviceTimeline::step_at(std::int64_t time_ns) const {
  const auto next = std::ranges::upper_bound(
      steps, time_ns, {}, [](const DeviceStep& step) { return step.mark.start_ns; });
  // What is launched before the only step is of that step.
  return steps.size() == 1 ? 0 : static_cast<EventIndex>(next - steps.begin()) - 1;
}

std::uint64_t DeviceTimeline::lost_work() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      lost, [](const LostLaunch& launch) { return is_lost_work(launch.why); }));
}

std::vector<EventIndex> DeviceTimeline::usable_steps() const {
  std::vector<EventIndex> usable;
  for (EventIndex i = 0; i < steps.size(); ++i) {
    if (steps[i].lost == 0 || is_incomplete()) {
      usable.push_back(i);
    }
  }
  return usable;
}

bool DeviceTimeline::is_incomplete() const {
  return std::ranges::all_of(steps, [](const DeviceStep& step) { return step.lost > 0; });
}

Stretches DeviceTimeline::busy() const {
  Stretches work;
  for (const DeviceEvent& event : events) {
    work.push_back(event.stretch());
  }
  return merged_stretches(std::move(work));
}

Stretches DeviceTimeline::busy(const std::vector<EventIndex>& of_steps) const {
  Stretches work;
  for (const DeviceEvent& event : events) {
    if (std::ranges::binary_search(of_steps, event.step)) {
      work.push_back(event.stretch());
    }
  }
  return merged_stretches(std::move(work));
}

}  // namespace understudy::et_schema
