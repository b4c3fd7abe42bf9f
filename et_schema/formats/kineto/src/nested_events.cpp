#include "et_schema/kineto/nested_events.h"

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
  std::ranges::stable_sort(events, {}, [](const NestedEvent& nested) {
    const KinetoEvent& event = *nested.event;
    return std::tuple(event.pid, event.tid, event.ts_ns, -event.dur_ns);
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

Launches::Launches(const Profile& profile) : profile_(profile) {
  for (const KinetoEvent& event : profile.events) {
    if (event.category == KinetoCategory::kRuntime && event.correlation > 0) {
      calls_.push_back({event.correlation, &event});
    }
  }
  sort(calls_);
}

const KinetoEvent* Launches::of(const KinetoEvent& work) const {
  const KinetoEvent* call = find(calls_, work.correlation);
  if (call != nullptr || work.external_id <= 0) {
    return call;
  }
  if (!operators_) {
    operators_ = named_operators();
  }
  return find(*operators_, work.external_id);
}

std::vector<Launches::Known> Launches::named_operators() const {
  std::vector<Known> operators;
  for (const KinetoEvent& event : profile_.events) {
    if (event.category == KinetoCategory::kCpuOp && event.external_id > 0) {
      operators.push_back({event.external_id, &event});
    }
  }
  sort(operators);
  constexpr std::uint64_t kTenths = 9;
  std::uint64_t ids = 0;
  std::uint64_t right = 0;
  for (const KinetoEvent& event : profile_.events) {
    if (is_device_work(event) && event.external_id > 0) {
      ++ids;
      right += is_named_by(find(operators, event.external_id), event) ? 1U : 0U;
    }
  }
  return 10 * right < kTenths * ids ? std::vector<Known>() : operators;
}

void Launches::sort(std::vector<Known>& known) {
  if (!std::ranges::is_sorted(known, {}, &Known::id)) {
    std::ranges::stable_sort(known, {}, &Known::id);
  }
}

const KinetoEvent* Launches::find(const std::vector<Known>& known, std::int64_t id) {
  const auto found = std::ranges::lower_bound(known, id, {}, &Known::id);
  return found == known.end() || found->id != id ? nullptr : found->event;
}

bool Launches::is_named_by(const KinetoEvent* operator_, const KinetoEvent& work) const {
  if (operator_ == nullptr || work.external_id == work.correlation) {
    return false;
  }
  const KinetoEvent* call = find(calls_, work.correlation);
  if (call == nullptr) {
    return operator_->ts_ns <= work.ts_ns;
  }
  return are_on_one_thread(*operator_, *call) && operator_->ts_ns <= call->ts_ns &&
         call->ts_ns <= stretch_of(*operator_).end_ns;
}

}  // namespace understudy::et_schema
