#include "device_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "et_schema/base/figures.h"
#include "et_schema/formats/kineto/nested_events.h"

namespace understudy::et_schema {
namespace {

/// What the device did of a step's work.
struct StepWork {
  std::int64_t begin_ns = kEver;
  std::int64_t end_ns = -kEver;
  std::uint64_t launches = 0;  ///< known ones
  std::uint64_t starved = 0;   ///< launched when all work launched before had ended

  /// Returns true if the device had the step's next work before it ended the last.
  [[nodiscard]] bool is_queued() const { return launches > 0 && starved == 0; }
};

std::vector<StepWork> work_of_steps(const DeviceTimeline& timeline) {
  std::vector<const DeviceEvent*> by_launch;
  for (const DeviceEvent& event : timeline.events) {
    by_launch.push_back(&event);
  }
  std::ranges::stable_sort(by_launch, {}, &DeviceEvent::launch_ns);
  std::vector<StepWork> works(timeline.steps.size());
  std::int64_t busy_until_ns = -kEver;
  for (const DeviceEvent* event : by_launch) {
    if (event->step != kUnknownEvent) {
      StepWork& work = works[event->step];
      work.begin_ns = std::min(work.begin_ns, event->start_ns);
      work.end_ns = std::max(work.end_ns, event->end_ns);
      work.launches += event->call == kUnknownEvent ? 0U : 1U;
      work.starved += event->call != kUnknownEvent && event->launch_ns >= busy_until_ns ? 1U : 0U;
    }
    busy_until_ns = std::max(busy_until_ns, event->end_ns);
  }
  return works;
}

/// Steps share out the time. A step begins with its mark, or later, when the device ends the work
/// of the step before: if the device had work queued without a break, through that step or this
/// one.
void measure_lengths(const std::vector<StepWork>& works, std::vector<DeviceStep>& steps) {
  std::vector<std::int64_t> begins_ns;
  std::int64_t busy_until_ns = -kEver;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool is_queued = i > 0 && (works[i - 1].is_queued() || works[i].is_queued());
    begins_ns.push_back(std::max(steps[i].mark.start_ns, is_queued ? busy_until_ns : -kEver));
    busy_until_ns = std::max(busy_until_ns, works[i].end_ns);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    DeviceStep& step = steps[i];
    step.end_ns = std::max(step.mark.end_ns, works[i].end_ns);
    const bool is_last = i + 1 == steps.size();
    const std::int64_t end_ns = is_last && i > 0 && works[i].is_queued() ? works[i].end_ns
                                : is_last                                ? step.end_ns
                                          : std::min(step.end_ns, begins_ns[i + 1]);
    step.length_ns = difference(end_ns, begins_ns[i]);
    if (i == 0 && !is_last && works[1].is_queued()) {
      // Nothing shows how late the device was when the first step began.
      step.length_ns = std::max(step.mark.ns(), difference(works[1].begin_ns, works[0].begin_ns));
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
  DeviceStep& first = timeline.steps.front();
  if (first.name.empty() && first.mark.ns() == 0) {
    Stretches all = DeviceTimeline::busy(timeline.events);
    for (const KinetoEvent& event : profile.events) {
      if (event.category == KinetoCategory::kCpuOp) {
        all.push_back(stretch_of(event));
      }
    }
    if (!all.empty()) {
      first.mark = {std::ranges::min_element(all, {}, &Stretch::start_ns)->start_ns,
                    std::ranges::max_element(all, {}, &Stretch::end_ns)->end_ns};
    }
  }
  measure_lengths(work_of_steps(timeline), timeline.steps);
}

EventIndex DeviceTimeline::step_at(std::int64_t time_ns) const {
  const auto next = std::ranges::upper_bound(
      steps, time_ns, {}, [](const DeviceStep& step) { return step.mark.start_ns; });
  return steps.size() == 1 && steps.front().name.empty()
             ? 0
             : static_cast<EventIndex>(next - steps.begin()) - 1;
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

DeviceDoubts doubts_of(const Profile& profile, const DeviceTimeline& timeline) {
  DeviceDoubts doubts{.lost = timeline.lost_work(),
                      .unknown = profile.losses[Loss::kUnknownDeviceEvents],
                      .clock_shift_ns = timeline.clock_shift_ns,
                      .is_clock_unknown = timeline.is_clock_unknown};
  for (const DeviceStep& step : timeline.steps) {
    doubts.launches += step.launches;
    doubts.whole_steps += step.lost == 0 ? 1U : 0U;
  }
  return doubts;
}

std::string doubt_text(const DeviceDoubts& doubts) {
  std::vector<std::string> texts;
  if (doubts.lost > 0) {
    texts.push_back(fmt::format(
        "{} of {} launches of kernels, copies and graphs have no device event, or one without a "
        "time. {}",
        doubts.lost, std::max(doubts.launches, doubts.lost),
        doubts.whole_steps > 0 ? "Steps that lost some are not used."
                               : "Device time and idle share are not known."));
  }
  if (doubts.unknown > 0) {
    texts.push_back(
        fmt::format("{} of a device in no known category: such time counts nowhere, and the idle "
                    "share is not known.",
                    counted(doubts.unknown, "event")));
  }
  if (doubts.is_clock_unknown) {
    texts.emplace_back(
        "The clocks of host and device contradict each other: waits end before what they waited "
        "for, or work begins before its launch, by times that no offset explains. The idle share "
        "is not known.");
  } else if (doubts.clock_shift_ns != 0) {
    constexpr double kMsPerNs = 1e-6;
    texts.push_back(fmt::format(
        "The device's clock was up to {} ms {} the host's, as launches and waits show: its times "
        "are moved by that.",
        figure_text(std::abs(static_cast<double>(doubts.clock_shift_ns)) * kMsPerNs),
        doubts.clock_shift_ns < 0 ? "ahead of" : "behind"));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace understudy::et_schema
