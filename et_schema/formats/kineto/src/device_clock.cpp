#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "device_steps.h"
#include "et_schema/formats/kineto/nested_events.h"

namespace understudy::et_schema {
namespace {

/// Smaller contradictions are the resolution of the clocks.
constexpr std::int64_t kClockStepNs = 20'000;
/// A wait for an unknown stream that took less may have waited for nothing.
constexpr std::int64_t kLeastWaitNs = 100'000;
constexpr std::size_t kMostSought =
    10'000;  ///< launches between an event's record and the wait for it

/// Goes through the launches in order. What was launched up to a wait of the host, or in a step,
/// has one offset: the one of the work before, unless that contradicts a launch or the wait.
class ClockMender {
 public:
  ClockMender(const Profile& profile, DeviceTimeline& timeline)
      : profile_(profile), line_(timeline), ends_(timeline.streams.size()) {}

  void mend() {
    find_turns();
    for (EventIndex i = 0; i < line_.events.size(); ++i) {
      const EventIndex call = line_.events[i].call;
      if (call != kUnknownEvent && profile_.events[call].category == KinetoCategory::kRuntime) {
        order_.push_back(i);
      }
    }
    std::ranges::stable_sort(order_, {}, [this](EventIndex i) { return launched_ns(i); });
    std::vector<std::int64_t> offsets_ns(line_.events.size(), kEver);
    for (const auto& [at_ns, wait] : turns_) {
      const std::size_t first = next_;
      std::int64_t least_ns = -kEver;
      ends_.assign(ends_.size(), std::nullopt);  // work before may have another offset
      for (; next_ < order_.size() && launched_ns(order_[next_]) <= at_ns; ++next_) {
        const DeviceEvent& event = line_.events[order_[next_]];
        least_ns = std::max(least_ns, difference(event.launch_ns, event.start_ns));
        ends_[event.stream] = std::max(ends_[event.stream].value_or(-kEver), event.end_ns);
      }
      if (first < next_) {
        choose(least_ns, wait == nullptr ? kEver : most_ns(*wait));
      }
      std::for_each(order_.begin() + static_cast<std::ptrdiff_t>(first),
                    order_.begin() + static_cast<std::ptrdiff_t>(next_),
                    [&](EventIndex i) { offsets_ns[i] = offset_ns_; });
    }
    if (line_.clock_shift_ns != 0) {
      move(offsets_ns);
    }
  }

 private:
  [[nodiscard]] std::int64_t launched_ns(EventIndex event) const {
    return stretch_of(profile_.events[line_.events[event].call]).end_ns;
  }

  void find_turns() {
    turns_.emplace_back(kEver, nullptr);
    for (const DeviceStep& step : line_.steps) {
      turns_.emplace_back(step.mark.start_ns, nullptr);
    }
    for (const KinetoEvent& event : profile_.events) {
      if (what_waits(event)) {
        turns_.emplace_back(event.ts_ns, &event);
      }
    }
    std::ranges::stable_sort(turns_, {}, &Turn::first);
  }

  void choose(std::int64_t least_ns, std::int64_t most_ns) {
    if (difference(least_ns, most_ns) > kClockStepNs) {
      line_.is_clock_unknown = true;
    } else if (difference(least_ns, offset_ns_) > kClockStepNs ||
               difference(offset_ns_, most_ns) > kClockStepNs) {
      offset_ns_ = std::clamp(offset_ns_, std::min(least_ns, most_ns), most_ns);
      if (std::abs(offset_ns_) > std::abs(line_.clock_shift_ns)) {
        line_.clock_shift_ns = offset_ns_;
      }
    }
  }

  /// Returns the largest offset with which all that the host waited for had ended.
  [[nodiscard]] std::int64_t most_ns(const KinetoEvent& wait) {
    const std::int64_t end_ns = awaited_end_ns(wait);
    return end_ns == kEver ? kEver : difference(stretch_of(wait).end_ns, end_ns);
  }

  /// Returns the end of the awaited work, of the work launched since the turn before. If the
  /// profile does not show what was waited for, returns the first of the possible ends. kEver:
  /// nothing is known.
  [[nodiscard]] std::int64_t awaited_end_ns(const KinetoEvent& wait) {
    if (!records_) {
      records_ = sync_records(profile_.events);
    }
    const auto found = records_->find(wait.correlation);
    const KinetoEvent* const record = found == records_->end() ? nullptr : found->second;
    const DeviceWait::For waits_for = *what_waits(wait);
    if (waits_for == DeviceWait::For::kEvent) {
      return record == nullptr ? kEver : recorded_end_ns(*record);
    }
    std::map<std::int64_t, std::int64_t> ends;  // by what may be waited for
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const DeviceStream& stream = line_.streams[i];
      const bool is_device = waits_for == DeviceWait::For::kDevice;
      if (ends_[i] && (is_device || record == nullptr || record->stream == stream.number)) {
        const std::int64_t device =
            profile_.events[line_.events[stream.events.front()].source].device;
        const std::int64_t key = !is_device    ? static_cast<std::int64_t>(i)
                                 : device >= 0 ? device
                                               : stream.pid;
        std::int64_t& end_ns = ends.try_emplace(key, *ends_[i]).first->second;
        end_ns = std::max(end_ns, *ends_[i]);
      }
    }
    const bool is_known = waits_for == DeviceWait::For::kDevice || record != nullptr;
    return ends.empty() || (!is_known && wait.dur_ns < kLeastWaitNs)
               ? kEver
               : std::ranges::min_element(ends, {}, [](const auto& end) {
                   return end.second;
                 })->second;
  }

  /// Returns the end of the last work launched on a stream before the awaited event was recorded.
  [[nodiscard]] std::int64_t recorded_end_ns(const KinetoEvent& record) {
    if (recording_.empty()) {
      for (const KinetoEvent& event : profile_.events) {
        if (event.category == KinetoCategory::kRuntime) {
          recording_.try_emplace(event.correlation, event.ts_ns);
        }
      }
    }
    const auto recorded = recording_.find(record.record_correlation);
    for (std::size_t i = next_;
         recorded != recording_.end() && i-- > 0 && i + kMostSought > next_;) {
      const DeviceEvent& event = line_.events[order_[i]];
      if (launched_ns(order_[i]) <= recorded->second &&
          line_.streams[event.stream].number == record.wait_stream) {
        return event.end_ns;
      }
    }
    return kEver;
  }

  /// Moves the events. One of an unknown launch moves with the next one on its stream.
  void move(const std::vector<std::int64_t>& offsets_ns) {
    std::vector<EventIndex> by_start(line_.events.size());
    for (EventIndex i = 0; i < by_start.size(); ++i) {
      by_start[i] = i;
    }
    std::ranges::stable_sort(by_start, std::ranges::greater{},
                             [this](EventIndex i) { return line_.events[i].start_ns; });
    std::vector<std::int64_t> of_stream(line_.streams.size(), offset_ns_);
    for (const EventIndex i : by_start) {
      DeviceEvent& event = line_.events[i];
      std::int64_t& offset_ns = of_stream[event.stream];
      offset_ns = offsets_ns[i] == kEver ? offset_ns : offsets_ns[i];
      event.start_ns = difference(event.start_ns, -offset_ns);
      event.end_ns = difference(event.end_ns, -offset_ns);
      event.launch_ns = difference(event.launch_ns, event.call == kUnknownEvent ? -offset_ns : 0);
    }
  }

  using Turn =
      std::pair<std::int64_t, const KinetoEvent*>;  ///< its time, and the wait if it is one

  const Profile& profile_;
  DeviceTimeline& line_;
  std::vector<Turn> turns_;
  std::vector<EventIndex> order_;                  ///< events of known calls, by launch
  std::size_t next_ = 0;                           ///< in order_
  std::vector<std::optional<std::int64_t>> ends_;  ///< by stream: of the turn's work
  std::optional<std::map<std::int64_t, const KinetoEvent*>> records_;
  std::map<std::int64_t, std::int64_t> recording_;  ///< starts of calls, by correlation
  std::int64_t offset_ns_ = 0;
};

}  // namespace

void mend_clock(const Profile& profile, DeviceTimeline& timeline) {
  ClockMender(profile, timeline).mend();
}

std::optional<DeviceWait::For> what_waits(const KinetoEvent& event) {
  const auto has = [&event](std::string_view part) {
    return event.name.find(part) != std::string_view::npos;
  };
  const bool is_call =
      event.category == KinetoCategory::kRuntime || event.category == KinetoCategory::kOther;
  // The device's records of these calls (cuda_sync) are not host time.
  if (!is_call || !has("Synchronize")) {
    return std::nullopt;
  }
  return has("Stream")                 ? std::optional(DeviceWait::For::kStream)
         : has("Event")                ? std::optional(DeviceWait::For::kEvent)
         : has("Device") || has("Ctx") ? std::optional(DeviceWait::For::kDevice)
                                       : std::nullopt;
}

std::map<std::int64_t, const KinetoEvent*> sync_records(std::span<const KinetoEvent> events) {
  std::map<std::int64_t, const KinetoEvent*> records;
  for (const KinetoEvent& event : events) {
    if (event.category == KinetoCategory::kSync && event.correlation >= 0) {
      records.try_emplace(event.correlation, &event);
    }
  }
  return records;
}

}  // namespace understudy::et_schema
