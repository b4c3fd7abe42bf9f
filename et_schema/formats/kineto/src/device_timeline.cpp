#include "et_schema/kineto/device_timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "device_steps.h"
#include "et_schema/kineto/nested_events.h"
#include "et_schema/support/enum_names.h"
#include "kineto_event.h"

namespace understudy::et_schema {
namespace {

/// Normal overlap of neighbours on one stream: the second one was launched to begin early.
constexpr std::int64_t kNormalOverlapNs = 5000;
constexpr std::int64_t kNormalOverlapShare = 10;  ///< one over this of the shorter event

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// What a runtime's call does, by its name: all makers name these calls alike.
enum class CallKind : std::uint8_t { kOther, kWork, kMemset, kBeginCapture, kEndCapture };

CallKind kind_of(const KinetoEvent& call) {
  if (call.category != KinetoCategory::kRuntime) {
    return CallKind::kOther;
  }
  const std::string_view name = call.name;
  const bool copies = contains(name, "Memcpy") || contains(name, "memcpy");
  if ((copies && call.bytes != 0) || is_graph_launch(call) ||
      (contains(name, "Launch") && contains(name, "Kernel"))) {
    return CallKind::kWork;
  }
  return contains(name, "Memset") || contains(name, "memset") ? CallKind::kMemset
         : contains(name, "BeginCapture")                     ? CallKind::kBeginCapture
         : contains(name, "EndCapture")                       ? CallKind::kEndCapture
                                                              : CallKind::kOther;
}

/// CUPTI's records are gone then, and Kineto writes zeros.
bool has_time(const KinetoEvent& work, const Profile& profile) {
  return work.dur_ns >= 0 && (work.ts_ns != profile.base_time_ns || work.dur_ns != 0);
}

/// Events by an id of theirs; the first one in the file has it.
class EventsById {
 public:
  void add(std::int64_t id, EventIndex event) { events_.emplace_back(id, event); }
  void sort() { std::ranges::sort(events_); }
  [[nodiscard]] EventIndex find(std::int64_t id) const {
    const auto found = std::ranges::lower_bound(events_, std::pair(id, EventIndex{0}));
    return found == events_.end() || found->first != id ? kUnknownEvent : found->second;
  }

 private:
  std::vector<std::pair<std::int64_t, EventIndex>> events_;
};

class Builder {
 public:
  explicit Builder(const Profile& profile)
      : profile_(profile), operators_(nested_events(profile, [](const KinetoEvent& event) {
          return event.category == KinetoCategory::kCpuOp;
        })) {}

  DeviceTimeline build() {
    index_calls();
    line_.steps = marked_steps(profile_);
    for (EventIndex i = 0; i < profile_.events.size(); ++i) {
      if (is_device_work(profile_.events[i])) {
        add_work(i);
      }
    }
    answer_by_unknown_work();
    for (DeviceStream& stream : line_.streams) {
      sort_and_clip(stream);
    }
    find_lost();
    sum_steps(profile_, line_);
    return std::move(line_);
  }

 private:
  [[nodiscard]] const KinetoEvent& at(EventIndex event) const { return profile_.events[event]; }
  [[nodiscard]] EventIndex place(const KinetoEvent& event) const {
    return static_cast<EventIndex>(&event - profile_.events.data());
  }

  // ---- launches

  void index_calls() {
    for (EventIndex i = 0; i < profile_.events.size(); ++i) {
      const KinetoEvent& event = at(i);
      if (event.category == KinetoCategory::kRuntime && event.correlation > 0) {
        calls_.add(event.correlation, i);
      } else if (event.category == KinetoCategory::kCpuOp && event.external_id > 0) {
        named_.add(event.external_id, i);
      }
    }
    calls_.sort();
    named_.sort();
    std::uint64_t ids = 0;
    std::uint64_t right = 0;
    for (const KinetoEvent& event : profile_.events) {
      if (is_device_work(event) && event.external_id > 0) {
        ++ids;
        right += is_named_by(named_.find(event.external_id), event) ? 1U : 0U;
      }
    }
    constexpr std::uint64_t kTenths = 9;
    relies_on_external_ids_ = 10 * right >= kTenths * ids;
    is_call_of_work_.resize(profile_.events.size());
  }

  [[nodiscard]] bool is_named_by(EventIndex found, const KinetoEvent& work) const {
    if (found == kUnknownEvent || work.external_id == work.correlation) {
      return false;
    }
    const KinetoEvent& op = at(found);
    const EventIndex call = calls_.find(work.correlation);
    if (call == kUnknownEvent) {
      return op.ts_ns <= work.ts_ns;
    }
    return are_on_one_thread(op, at(call)) && op.ts_ns <= at(call).ts_ns &&
           at(call).ts_ns <= stretch_of(op).end_ns;
  }

  [[nodiscard]] EventIndex call_of(const KinetoEvent& work) const {
    const EventIndex call = calls_.find(work.correlation);
    return call == kUnknownEvent && relies_on_external_ids_ && work.external_id > 0
               ? named_.find(work.external_id)
               : call;
  }

  /// `time_ns`: of the work, which tells the step of work whose call is unknown.
  [[nodiscard]] DeviceLaunch launch_by(EventIndex call, std::int64_t time_ns) const {
    DeviceLaunch launch;
    launch.call = call;
    launch.launch_ns = time_ns;
    if (call != kUnknownEvent) {
      launch.launch_ns = at(call).ts_ns;
      if (at(call).category == KinetoCategory::kCpuOp) {
        launch.launcher = call;
      } else if (const auto around = innermost_around(operators_, at(call))) {
        launch.launcher = place(*operators_[*around].event);
      }
    }
    const bool is_known = launch.launcher != kUnknownEvent;
    launch.by = call != kUnknownEvent && is_graph_launch(at(call)) ? LaunchedBy::kGraph
                : !is_known                                        ? LaunchedBy::kNothing
                : contains(at(launch.launcher).name, "::")         ? LaunchedBy::kOperator
                                                                   : LaunchedBy::kLabel;
    launch.step = line_.step_at(launch.launch_ns);
    return launch;
  }

  // ---- device events

  void add_work(EventIndex source) {
    const KinetoEvent& work = at(source);
    const EventIndex call = call_of(work);
    const DeviceLaunch launch = launch_by(call, work.ts_ns);
    if (call != kUnknownEvent) {
      is_call_of_work_[call] = true;
    }
    if (!has_time(work, profile_)) {
      add_lost({launch, LostBy::kNoTime, source});
      if (call == kUnknownEvent && launch.step != kUnknownEvent) {
        ++line_.steps[launch.step].launches;
      }
      return;
    }
    line_.by_external_id += launch.launcher == call && call != kUnknownEvent ? 1U : 0U;
    const Stretch stretch = stretch_of(work);
    line_.streams[stream_of(work)].events.push_back(static_cast<EventIndex>(line_.events.size()));
    line_.events.push_back({launch, source, stream_of(work), stretch.start_ns, stretch.end_ns});
  }

  EventIndex stream_of(const KinetoEvent& work) {
    const std::int64_t thread = work.stream >= 0 ? -1 : work.tid;
    const auto [found, is_new] = streams_.try_emplace(
        std::tuple(work.pid, work.device, work.stream, thread), line_.streams.size());
    if (is_new) {
      std::int64_t number = work.stream >= 0 ? work.stream : std::max<std::int64_t>(thread, 0);
      while (!numbers_.insert(number).second) {
        number = *numbers_.rbegin() + 1;
      }
      line_.streams.push_back({work.pid, work.device, work.stream, number, {}});
    }
    return static_cast<EventIndex>(found->second);
  }

  void sort_and_clip(DeviceStream& stream) {
    std::vector<DeviceEvent>& events = line_.events;
    std::ranges::stable_sort(stream.events, {}, [&events](EventIndex i) {
      return std::pair(events[i].start_ns, events[i].end_ns);
    });
    const DeviceEvent* next = nullptr;  // the first one behind that another call launched
    for (std::size_t i = stream.events.size(); i-- > 1;) {
      const DeviceEvent& after = events[stream.events[i]];
      DeviceEvent& event = events[stream.events[i - 1]];
      next = event.call == kUnknownEvent || event.call != after.call ? &after : next;
      if (next == nullptr || event.end_ns <= next->start_ns) {
        continue;
      }
      const std::int64_t overlap_ns = event.end_ns - next->start_ns;
      if (overlap_ns >= kNormalOverlapNs &&
          overlap_ns >= std::min(event.ns(), next->ns()) / kNormalOverlapShare) {
        event.end_ns = next->start_ns;
        ++line_.clipped;
      }
    }
  }

  // ---- launches without events

  /// A launch whose event is of a category that nobody knows did not lose it.
  void answer_by_unknown_work() {
    for (const KinetoEvent& event : profile_.events) {
      const EventIndex call = event.category == KinetoCategory::kOther && event.stream >= 0 &&
                                      !is_beside_work(event.category_text)
                                  ? calls_.find(event.correlation)
                                  : kUnknownEvent;
      if (call != kUnknownEvent) {
        is_call_of_work_[call] = true;
      }
    }
  }

  void add_lost(const LostLaunch& lost) {
    ++line_.lost_by[static_cast<std::size_t>(lost.why)];
    if (is_lost_work(lost.why) && lost.step != kUnknownEvent) {
      ++line_.steps[lost.step].lost;
    }
    line_.lost.push_back(lost);
  }

  /// Whether the correlations of device events tell at all which launch has none.
  [[nodiscard]] bool has_correlations() const {
    return line_.events.empty() ||
           std::ranges::any_of(line_.events, [this](const DeviceEvent& event) {
             return event.call != kUnknownEvent &&
                    at(event.call).category == KinetoCategory::kRuntime;
           });
  }

  void find_lost() {
    const bool has_ranges = std::ranges::any_of(profile_.events, [](const KinetoEvent& event) {
      return event.category_text == "cuda_profiler_range";
    });
    // A call in another one is the driver's part of the runtime's.
    const std::vector<NestedEvent> calls = nested_events(
        profile_, [](const KinetoEvent& event) { return kind_of(event) != CallKind::kOther; });
    find_captures(calls);
    std::vector<std::size_t> outermost(calls.size());
    std::vector<bool> is_answered(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      outermost[i] = calls[i].parent ? outermost[*calls[i].parent] : i;
      is_answered[outermost[i]] =
          is_answered[outermost[i]] || is_call_of_work_[place(*calls[i].event)];
    }
    std::vector<EventIndex> launches;
    std::set<EventIndex> unanswered;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool is_launch = kind_of(*calls[i].event) == CallKind::kWork ||
                             kind_of(*calls[i].event) == CallKind::kMemset;
      if (outermost[i] == i && is_launch) {
        launches.push_back(place(*calls[i].event));
        if (!is_answered[i]) {
          unanswered.insert(launches.back());
        }
      }
    }
    std::ranges::sort(launches);
    const bool tells = has_correlations();
    for (const EventIndex call : launches) {
      const DeviceLaunch launch = launch_by(call, 0);
      const bool is_memset = kind_of(at(call)) == CallKind::kMemset;
      // An operator that "External id" names stands for its calls.
      const bool is_lost = tells && unanswered.contains(call) && at(call).correlation > 0 &&
                           (launch.launcher == kUnknownEvent || !is_call_of_work_[launch.launcher]);
      const LostBy why = is_memset               ? LostBy::kMemset
                         : is_captured(at(call)) ? LostBy::kCaptured
                         : has_ranges            ? LostBy::kRanged
                                                 : LostBy::kNoEvent;
      if (is_lost) {
        add_lost({launch, why});
      }
      if (!is_memset && launch.step != kUnknownEvent && (!is_lost || is_lost_work(why))) {
        ++line_.steps[launch.step].launches;
      }
    }
  }

  /// Notes when streams of each process were being captured into a graph.
  void find_captures(const std::vector<NestedEvent>& calls) {
    std::vector<const KinetoEvent*> marks;
    for (const NestedEvent& call : calls) {
      if (kind_of(*call.event) >= CallKind::kBeginCapture) {
        marks.push_back(call.event);
      }
    }
    std::ranges::stable_sort(marks, {}, &KinetoEvent::ts_ns);
    for (const KinetoEvent* mark : marks) {
      Stretches& captures = captures_[mark->pid];
      if (kind_of(*mark) == CallKind::kBeginCapture) {
        captures.push_back({mark->ts_ns, std::numeric_limits<std::int64_t>::max()});
      } else if (!captures.empty()) {
        captures.back().end_ns = std::min(captures.back().end_ns, mark->ts_ns);
      }
    }
  }

  [[nodiscard]] bool is_captured(const KinetoEvent& call) const {
    const auto captures = captures_.find(call.pid);
    return captures != captures_.end() &&
           std::ranges::any_of(captures->second, [&call](const Stretch& capture) {
             return capture.start_ns <= call.ts_ns && call.ts_ns < capture.end_ns;
           });
  }

  const Profile& profile_;
  std::vector<NestedEvent> operators_;
  EventsById calls_;  ///< of the runtime, by correlation
  EventsById named_;  ///< operators, by "External id"
  bool relies_on_external_ids_ = false;
  std::vector<bool> is_call_of_work_;  ///< by event of the profile
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::size_t>
      streams_;
  std::set<std::int64_t> numbers_;
  std::map<std::int64_t, Stretches> captures_;  ///< by process
  DeviceTimeline line_;
};

}  // namespace

std::string_view to_string(LaunchedBy by) {
  return EnumNames<LaunchedBy::kNothing>("operator", "label without operator", "graph launch",
                                         "unlinked")[by];
}

bool is_graph_launch(const KinetoEvent& call) {
  return call.category == KinetoCategory::kRuntime && contains(call.name, "GraphLaunch");
}

DeviceTimeline device_timeline(const Profile& profile) {
  return Builder(profile).build();
}

}  // namespace understudy::et_schema
