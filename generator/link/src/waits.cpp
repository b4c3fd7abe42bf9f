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

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Finds the places of calls in the profiled steps.
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

  /// Returns the call's place; empty on a thread without operators, and outside of the steps.
  [[nodiscard]] std::optional<CallPlace> find(const KinetoEvent& call) const {
    const std::int64_t start_ns = host_.relative(call.ts_ns);
    const HostThread* thread = host_.find_thread(call.pid, call.tid);
    const std::optional<std::size_t> step = thread == nullptr ? std::nullopt : step_at(start_ns);
    if (!step) {
      return std::nullopt;
    }
    CallPlace place{*step, kStepEnd, ends_ns_[*step] - start_ns};
    for (HostIndex next = first_from(*thread, start_ns); next < thread->end; ++next) {
      if (const auto& [of_step, position] = joined_[next]; of_step != kNoStep) {
        if (of_step == *step) {
          place.before = position;
          place.ahead_ns = host_.events[next].start_ns - start_ns;
        }
        break;
      }
    }
    return place;
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

/// Returns the start of a node in the typical step minus the median of `ahead_ns`. Empty if the
/// typical step lacks the node.
std::optional<std::int64_t> place_before(std::size_t position, std::vector<std::int64_t>& ahead_ns,
                                         const Starts& starts) {
  const auto start = starts.find(position);
  return start == starts.end() ? std::nullopt
                               : std::optional(std::clamp<std::int64_t>(
                                     start->second - median(ahead_ns), 0, kLatestNs));
}

/// Groups equal waits of different steps. Waits are equal if their keys are (streams and next node)
/// and they have the same position among the equal waits of their step.
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

bool is_copy(const KinetoEvent& call) {
  return call.category == KinetoCategory::kRuntime &&
         (contains(call.name, "Memcpy") || contains(call.name, "memcpy"));
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
    // A query does not wait, and a stream does not wait for itself.
    const bool is_wait = call != calls.end() && !contains(call->second->name, "Query") &&
                         event->stream != event->wait_stream;
    const std::optional<CallPlace> place = is_wait ? places.find(*call->second) : std::nullopt;
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
    // Steps mostly record the event at the same place. The first step that shows a place decides;
    // steps with another place are skipped.
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
    // An event from before the step does not depend on anything in it.
    const std::int64_t until_ns =
        record_ahead_ns.empty() ? 0
                                : place_before(record_before, record_ahead_ns, starts).value_or(0);
    laid_out.push_back({*start_ns, stream, for_stream, std::min(until_ns, *start_ns)});
  }
  std::ranges::stable_sort(laid_out, {}, &et_schema::StreamWait::start_ns);
  return laid_out;
}

}  // namespace understudy::generator
