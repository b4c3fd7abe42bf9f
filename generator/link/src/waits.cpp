#include "waits.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "statistics.h"

namespace understudy::generator {
namespace {

using et_schema::DeviceWait;
using et_schema::KinetoCategory;
using et_schema::KinetoEvent;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// All runtimes give these calls the same names. What the device shows of them (cuda_sync) is not
/// part of the host's time.
std::optional<DeviceWait::For> waits_for(const KinetoEvent& event) {
  const bool is_call =
      event.category == KinetoCategory::kRuntime || event.category == KinetoCategory::kOther;
  if (!is_call || !contains(event.name, "Synchronize")) {
    return std::nullopt;
  }
  if (contains(event.name, "Stream")) {
    return DeviceWait::For::kStream;
  }
  if (contains(event.name, "Event")) {
    return DeviceWait::For::kEvent;
  }
  const bool of_device = contains(event.name, "Device") || contains(event.name, "Ctx");
  return of_device ? std::optional(DeviceWait::For::kDevice) : std::nullopt;
}

/// Finds the places of calls in the steps.
class PlaceFinder {
 public:
  PlaceFinder(const HostEvents& host, const Join& join) : host_(host), join_(join) {
    joined_.resize(host_.events.size());
    for (std::size_t s = 0; s < join_.steps.size(); ++s) {
      const std::vector<HostIndex>& events = join_.steps[s].event_of;
      for (std::size_t position = 0; position < events.size(); ++position) {
        if (events[position] != kNoEvent) {
          joined_[events[position]] = {s, position};
        }
      }
      ends_ns_.push_back(join_.steps[s].end_ns(host_));
    }
  }

  /// None on a thread without operators, and outside of the steps.
  [[nodiscard]] std::optional<HostWait> find(const KinetoEvent& call) const {
    const std::int64_t start_ns = host_.relative(call.ts_ns);
    const HostThread* thread = host_.find_thread(call.pid, call.tid);
    const std::optional<std::size_t> step = thread == nullptr ? std::nullopt : step_at(start_ns);
    if (!step) {
      return std::nullopt;
    }
    HostWait wait{*step, kStepEnd, start_ns, 0,
                  std::clamp<std::int64_t>(call.dur_ns, 0, kLatestNs)};
    wait.ahead_ns = ends_ns_[*step] - start_ns;
    for (HostIndex next = first_from(*thread, start_ns); next < thread->end; ++next) {
      if (const auto& [of_step, position] = joined_[next]; of_step != kNoStep) {
        if (of_step == *step) {
          wait.before = position;
          wait.ahead_ns = host_.events[next].start_ns - start_ns;
        }
        break;
      }
    }
    return wait;
  }

 private:
  [[nodiscard]] HostIndex first_from(const HostThread& thread, std::int64_t time_ns) const {
    const HostIndex last = host_.last_started(thread, time_ns);
    return last == kNoEvent ? thread.begin : last + 1;
  }

  [[nodiscard]] std::optional<std::size_t> step_at(std::int64_t time_ns) const {
    for (std::size_t s = 0; s < join_.steps.size(); ++s) {
      if (join_.steps[s].span.begin_ns <= time_ns && time_ns < ends_ns_[s]) {
        return s;
      }
    }
    return std::nullopt;
  }

  const HostEvents& host_;
  const Join& join_;
  static constexpr std::size_t kNoStep = ~std::size_t{0};
  struct Place {
    std::size_t step = kNoStep;
    std::size_t position = 0;
  };

  std::vector<Place> joined_;          ///< by host event
  std::vector<std::int64_t> ends_ns_;  ///< by step
};

/// Starts of the nodes in the typical step, and its end.
using Starts = std::unordered_map<std::size_t, std::int64_t>;

Starts starts_of(const Layout& layout) {
  Starts starts(layout.starts.begin(), layout.starts.end());
  starts[kStepEnd] = layout.step_ns;
  return starts;
}

/// What lies by the median so far before a node; none where the typical step lacks the node.
std::optional<std::int64_t> place_before(std::size_t position, std::vector<std::int64_t>& ahead_ns,
                                         const Starts& starts) {
  const auto start = starts.find(position);
  return start == starts.end() ? std::nullopt
                               : std::optional(std::clamp<std::int64_t>(
                                     start->second - median(ahead_ns), 0, kLatestNs));
}

/// A wait of one step is the same as that of another step if their keys are (what waits for what,
/// ahead of which node) and it stands at the same place among such waits of its step.
template <typename Wait, typename KeyOf>
auto same_waits(const std::vector<Wait>& waits, const KeyOf& key_of) {
  using Key = decltype(key_of(waits.front()));
  std::map<std::pair<std::size_t, Key>, std::size_t> counts;  // by step
  std::map<std::pair<Key, std::size_t>, std::vector<const Wait*>> same;
  for (const Wait& wait : waits) {
    const Key key = key_of(wait);
    same[{key, counts[{wait.step, key}]++}].push_back(&wait);
  }
  return same;
}

}  // namespace

std::vector<HostWait> find_waits(const HostEvents& host, const Join& join) {
  std::vector<const KinetoEvent*> calls;
  for (const KinetoEvent& event : host.sources) {
    if (waits_for(event)) {
      calls.push_back(&event);
    }
  }
  std::vector<HostWait> waits;
  if (calls.empty()) {
    return waits;
  }
  std::ranges::stable_sort(calls, {}, &KinetoEvent::ts_ns);
  const PlaceFinder places(host, join);
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> busy_until_ns;  // by thread
  for (const KinetoEvent* call : calls) {
    const std::int64_t start_ns = host.relative(call->ts_ns);
    std::int64_t& busy_ns = busy_until_ns[{call->pid, call->tid}];
    if (start_ns < busy_ns) {
      continue;  // it is the driver's part of a runtime's call
    }
    busy_ns = start_ns + std::clamp<std::int64_t>(call->dur_ns, 0, kLatestNs);
    if (std::optional<HostWait> wait = places.find(*call)) {
      wait->waits_for = *waits_for(*call);
      waits.push_back(*wait);
    }
  }
  return waits;
}

std::int64_t awaited_before(const HostEvents& host, const Join& join,
                            const et_schema::DeviceTimeline& device,
                            const std::vector<HostWait>& waits) {
  const auto is_linked = [&host](const et_schema::DeviceEvent& event) {
    return host.event_of(event.launcher) != kNoEvent;
  };
  std::int64_t first_launch_ns = kLatestNs;  // that the profile shows
  for (const et_schema::DeviceEvent& event : device.events) {
    if (is_linked(event)) {
      first_launch_ns = std::min(first_launch_ns, host.relative(event.launch_ns));
    }
  }
  std::int64_t before_ns = 0;  // the earlier work's end
  for (const et_schema::DeviceEvent& event : device.events) {
    if (event.call == et_schema::kUnknownEvent && host.relative(event.start_ns) < first_launch_ns) {
      before_ns = std::max(before_ns, host.relative(event.end_ns));
    }
  }
  if (first_launch_ns == kLatestNs || before_ns == 0) {
    return 0;  // what has no launch may be the steps' own
  }
  std::vector<std::int64_t> of_steps(join.steps.size());
  for (const HostWait& wait : waits) {
    if (wait.start_ns < first_launch_ns) {
      of_steps[wait.step] += std::clamp<std::int64_t>(before_ns - wait.start_ns, 0, wait.host_ns);
    }
  }
  for (std::size_t s = 0; s < of_steps.size(); ++s) {
    const StepSpan& span = join.steps[s].span;
    std::int64_t left_ns = 0;
    for (std::size_t i = 0; i < device.events.size() && of_steps[s] > 0; ++i) {
      const et_schema::DeviceEvent& event = device.events[i];
      const std::int64_t launch_ns = host.relative(event.launch_ns);
      if (is_linked(event) && span.begin_ns <= launch_ns && launch_ns < span.end_ns) {
        left_ns = std::max(left_ns, host.relative(event.end_ns) - span.end_ns);
      }
    }
    of_steps[s] = std::max<std::int64_t>(of_steps[s] - left_ns, 0);
  }
  return median(of_steps);
}

std::vector<EventWait> find_event_waits(const HostEvents& host, const Join& join) {
  std::vector<const KinetoEvent*> shown;
  std::map<std::int64_t, const KinetoEvent*> calls;  // by correlation
  for (const KinetoEvent& event : host.sources) {
    if (event.category == KinetoCategory::kSync && event.record_correlation >= 0) {
      shown.push_back(&event);
    } else if (event.category == KinetoCategory::kRuntime && contains(event.name, "Event")) {
      calls.try_emplace(event.correlation, &event);
    }
  }
  std::vector<EventWait> waits;
  if (shown.empty()) {
    return waits;
  }
  std::ranges::stable_sort(shown, {}, &KinetoEvent::ts_ns);
  const PlaceFinder places(host, join);
  for (const KinetoEvent* event : shown) {
    const auto call = calls.find(event->correlation);
    const auto record = calls.find(event->record_correlation);
    // A query waits for nothing, and a stream does not wait for itself.
    const bool is_wait = call != calls.end() && !contains(call->second->name, "Query") &&
                         event->stream != event->wait_stream;
    const std::optional<HostWait> place = is_wait ? places.find(*call->second) : std::nullopt;
    if (!place) {
      continue;
    }
    EventWait wait{*place, std::nullopt, std::nullopt, event->wait_stream};
    if (record != calls.end()) {
      wait.record = places.find(*record->second);
    }
    if (wait.record && wait.record->step != place->step) {
      wait.record.reset();
    }
    if (event->stream >= 0) {
      wait.stream = event->stream;
    }
    waits.push_back(wait);
  }
  return waits;
}

std::vector<et_schema::StreamWait> lay_out_event_waits(const std::vector<EventWait>& waits,
                                                       const Layout& layout, std::size_t steps) {
  std::vector<et_schema::StreamWait> laid_out;
  if (waits.empty()) {
    return laid_out;
  }
  const Starts starts = starts_of(layout);
  const auto same = same_waits(waits, [](const EventWait& wait) {
    return std::tuple(wait.before, wait.stream, wait.for_stream);
  });
  for (const auto& [key, of_steps] : same) {
    const auto& [before, stream, for_stream] = key.first;
    std::vector<std::int64_t> ahead_ns;
    std::vector<std::int64_t> record_ahead_ns;
    // The event is recorded where most steps record it, which is mostly the same place.
    std::size_t record_before = kStepEnd;
    for (const EventWait* wait : of_steps) {
      ahead_ns.push_back(wait->ahead_ns);
      if (wait->record && (record_ahead_ns.empty() || record_before == wait->record->before)) {
        record_before = wait->record->before;
        record_ahead_ns.push_back(wait->record->ahead_ns);
      }
    }
    const std::optional<std::int64_t> start_ns = place_before(before, ahead_ns, starts);
    if (2 * of_steps.size() < steps || !start_ns) {
      continue;
    }
    // An event of before the step is behind nothing of it.
    const std::int64_t until_ns =
        record_ahead_ns.empty() ? 0
                                : place_before(record_before, record_ahead_ns, starts).value_or(0);
    laid_out.push_back({*start_ns, stream, for_stream, std::min(until_ns, *start_ns)});
  }
  std::ranges::stable_sort(laid_out, {}, &et_schema::StreamWait::start_ns);
  return laid_out;
}

std::vector<DeviceWait> lay_out_waits(const std::vector<HostWait>& waits, const Layout& layout,
                                      std::size_t steps) {
  std::vector<DeviceWait> laid_out;
  if (waits.empty()) {
    return laid_out;
  }
  const Starts starts = starts_of(layout);
  const auto same = same_waits(
      waits, [](const HostWait& wait) { return std::pair(wait.before, wait.waits_for); });
  for (const auto& [key, of_steps] : same) {
    const auto& [before, awaited] = key.first;
    std::vector<std::int64_t> ahead_ns;
    std::vector<std::int64_t> host_ns;
    for (const HostWait* wait : of_steps) {
      ahead_ns.push_back(wait->ahead_ns);
      host_ns.push_back(wait->host_ns);
    }
    const std::optional<std::int64_t> start_ns = place_before(before, ahead_ns, starts);
    if (2 * of_steps.size() >= steps && start_ns) {
      laid_out.push_back({*start_ns, median(host_ns), awaited});
    }
  }
  std::ranges::stable_sort(laid_out, {}, &DeviceWait::start_ns);
  return laid_out;
}

}  // namespace understudy::generator
