#include "waits.h"

#include <algorithm>
#include <map>
#include <string_view>
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

struct Call {
  const KinetoEvent* event;
  DeviceWait::For waits_for;
};

std::vector<Call> find_calls(const et_schema::Profile& profile) {
  std::vector<Call> calls;
  for (const KinetoEvent& event : profile.events) {
    if (const auto kind = waits_for(event)) {
      calls.push_back({&event, *kind});
    }
  }
  std::ranges::stable_sort(calls, {}, [](const Call& call) { return call.event->ts_ns; });
  return calls;
}

class WaitFinder {
 public:
  WaitFinder(const et_schema::Profile& profile, const HostEvents& host, const Join& join)
      : profile_(profile), host_(host), join_(join) {}

  std::vector<HostWait> find() {
    const std::vector<Call> calls = find_calls(profile_);
    if (calls.empty()) {
      return {};
    }
    joined_.resize(host_.events.size());
    for (std::size_t s = 0; s < join_.steps.size(); ++s) {
      const std::vector<HostIndex>& events = join_.steps[s].event_of;
      for (std::size_t position = 0; position < events.size(); ++position) {
        if (events[position] != kNoEvent) {
          joined_[events[position]] = {s, position};
        }
      }
      ends_ns_.push_back(end_ns(join_.steps[s]));
    }
    for (const Call& call : calls) {
      add(call);
    }
    return std::move(waits_);
  }

 private:
  void add(const Call& call) {
    const std::int64_t start_ns = host_.relative(call.event->ts_ns);
    const std::int64_t host_ns = std::clamp<std::int64_t>(call.event->dur_ns, 0, kLatestNs);
    std::int64_t& busy_until_ns = busy_until_ns_[{call.event->pid, call.event->tid}];
    const HostThread* thread = host_.find_thread(call.event->pid, call.event->tid);
    if (thread == nullptr || start_ns < busy_until_ns) {
      return;  // no operator runs there, or it is the driver's part of a runtime's call
    }
    busy_until_ns = start_ns + host_ns;
    const std::optional<std::size_t> step = step_at(start_ns);
    if (!step) {
      return;
    }
    HostWait wait{*step, {}, 0, host_ns, call.waits_for};
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
    waits_.push_back(wait);
  }

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

  /// The end of the step as the layout has it.
  [[nodiscard]] std::int64_t end_ns(const JoinedStep& step) const {
    if (step.span.mark != kNoEvent) {
      return host_.events[step.span.mark].end_ns;
    }
    std::int64_t last = 0;
    for (const HostIndex event : step.event_of) {
      last = event == kNoEvent ? last : std::max(last, host_.events[event].end_ns);
    }
    return last;
  }

  const et_schema::Profile& profile_;
  const HostEvents& host_;
  const Join& join_;
  static constexpr std::size_t kNoStep = ~std::size_t{0};
  struct Place {
    std::size_t step = kNoStep;
    std::size_t position = 0;
  };

  std::vector<Place> joined_;                                                    ///< by host event
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> busy_until_ns_;  ///< by thread
  std::vector<std::int64_t> ends_ns_;                                            ///< by step
  std::vector<HostWait> waits_;
};

}  // namespace

std::vector<HostWait> find_waits(const et_schema::Profile& profile, const HostEvents& host,
                                 const Join& join) {
  return WaitFinder(profile, host, join).find();
}

std::vector<DeviceWait> lay_out_waits(const std::vector<HostWait>& waits, const Layout& layout,
                                      std::size_t steps) {
  // A wait of one step is the same as that of another step if it waits for the same thing, ahead of
  // the same node, at the same place among such waits.
  using Key = std::pair<std::size_t, DeviceWait::For>;
  struct Samples {
    std::vector<std::int64_t> ahead_ns, host_ns;
  };
  constexpr std::size_t kEnd = ~std::size_t{0};
  std::map<std::pair<std::size_t, Key>, std::size_t> counts;  // by step
  std::map<std::pair<Key, std::size_t>, Samples> samples;
  for (const HostWait& wait : waits) {
    const Key key{wait.before.value_or(kEnd), wait.waits_for};
    Samples& own = samples[{key, counts[{wait.step, key}]++}];
    own.ahead_ns.push_back(wait.ahead_ns);
    own.host_ns.push_back(wait.host_ns);
  }
  // Few: starts of the nodes before which something waits.
  std::map<std::size_t, std::optional<std::int64_t>> starts;
  for (const auto& [key, own] : samples) {
    starts[key.first.first] =
        key.first.first == kEnd ? std::optional(layout.step_ns) : std::nullopt;
  }
  for (const auto& [position, start_ns] : layout.starts) {
    if (const auto waited = starts.find(position); waited != starts.end()) {
      waited->second = start_ns;
    }
  }
  std::vector<DeviceWait> laid_out;
  for (auto& [key, own] : samples) {
    if (2 * own.host_ns.size() < steps) {
      continue;
    }
    if (const std::optional<std::int64_t> start_ns = starts[key.first.first]) {
      laid_out.push_back({std::clamp<std::int64_t>(*start_ns - median(own.ahead_ns), 0, kLatestNs),
                          median(own.host_ns), key.first.second});
    }
  }
  std::ranges::stable_sort(laid_out, {}, &DeviceWait::start_ns);
  return laid_out;
}

}  // namespace understudy::generator
