#include "et_schema/formats/kineto/device_timeline.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "device_steps.h"
#include "et_schema/base/enum_names.h"
#include "et_schema/base/words.h"
#include "et_schema/formats/kineto/nested_events.h"
#include "et_schema/model/op_class.h"
#include "kineto_event.h"

namespace understudy::et_schema {
namespace {

/// Shorter overlaps of neighbours on a stream are normal: a kernel may be launched to begin early.
constexpr std::int64_t kNormalOverlapNs = 5000;
constexpr std::int64_t kNormalOverlapShare = 10;  ///< also below 1 / 10 of the shorter event
/// Largest error between the clocks of operators and of runtime calls.
constexpr std::int64_t kClockErrorNs = 100'000;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Effect of a runtime call, inferred from its name, which is similar for all vendors.
enum class CallKind : std::uint8_t { kOther, kWork, kMemset, kBeginCapture, kEndCapture };

CallKind kind_of(const KinetoEvent& call) {
  const auto is = [&call](std::string_view part) { return contains(call.name, part); };
  return call.category != KinetoCategory::kRuntime                 ? CallKind::kOther
         : is_graph_launch(call) || (is("Launch") && is("Kernel")) ? CallKind::kWork
         : (is("Memcpy") || is("memcpy")) && call.bytes != 0       ? CallKind::kWork
         : is("Memset") || is("memset")                            ? CallKind::kMemset
         : is("BeginCapture")                                      ? CallKind::kBeginCapture
         : is("EndCapture")                                        ? CallKind::kEndCapture
                                                                   : CallKind::kOther;
}

/// Returns true for c10d's labels: "nccl:all_reduce".
bool is_communication_label(const KinetoEvent& event) {
  const std::size_t backend = event.name.find(':');
  return (event.category == KinetoCategory::kUserAnnotation ||
          event.category == KinetoCategory::kGpuUserAnnotation) &&
         backend != std::string_view::npos && event.name.substr(backend, 2) != "::" &&
         has_word("nccl gloo ucc mpi xccl", event.name.substr(0, backend));
}

class Builder {
 public:
  explicit Builder(const Profile& profile)
      : profile_(profile),
        calls_by_thread_(nested_events(
            profile, [](const KinetoEvent& event) { return kind_of(event) != CallKind::kOther; })),
        labels_(nested_events(profile, is_communication_label)),
        operators_(nested_events(
            profile,
            [](const KinetoEvent& event) { return event.category == KinetoCategory::kCpuOp; })),
        is_answered_(profile.events.size()) {
    for (const KinetoComm& comm : profile.comms) {
      communicating_.insert(static_cast<EventIndex>(comm.event));
    }
  }

  DeviceTimeline build(const Stretches& spans) {
    index_calls();
    find_captures();
    shared_ = shared_out(profile_, operators_, work_launches());
    line_.steps = marked_steps(profile_);
    if (line_.steps.front().name.empty() && !spans.empty()) {
      line_.steps.clear();
      for (const Stretch& span : spans) {
        line_.steps.push_back({{}, span});
      }
    }
    for (EventIndex i = 0; i < profile_.events.size(); ++i) {
      if (is_device_work(at(i))) {
        add_work(i);
      } else if (at(i).category == KinetoCategory::kOther && at(i).stream >= 0 &&
                 !is_beside_work(at(i).category_text)) {
        answer(find(calls_, at(i).correlation));  // the launch has an event
      }
    }
    if (profile_.graph_run.empty()) {  // else the events are of two runs
      mend_clock(profile_, line_);
    }
    for (DeviceStream& stream : line_.streams) {
      sort_and_clip(stream);
      bound_launches(stream);
    }
    find_steps();
    find_lost();
    sum_steps(profile_, line_);
    return std::move(line_);
  }

 private:
  using ById = std::unordered_map<std::int64_t, EventIndex>;  // if an id repeats, the first event
                                                              // in the file counts

  [[nodiscard]] const KinetoEvent& at(EventIndex event) const { return profile_.events[event]; }
  [[nodiscard]] EventIndex place(const KinetoEvent& event) const {
    return static_cast<EventIndex>(&event - profile_.events.data());
  }
  static EventIndex find(const ById& events, std::int64_t id) {
    const auto found = events.find(id);
    return found == events.end() ? kUnknownEvent : found->second;
  }
  void answer(EventIndex call) {
    if (call != kUnknownEvent) {
      is_answered_[call] = true;
    }
  }

  // ---- launches

  void index_calls() {
    for (EventIndex i = 0; i < profile_.events.size(); ++i) {
      if (at(i).category == KinetoCategory::kRuntime && at(i).correlation > 0) {
        calls_.try_emplace(at(i).correlation, i);
      } else if (at(i).category == KinetoCategory::kCpuOp && at(i).external_id > 0) {
        named_.try_emplace(at(i).external_id, i);
      }
    }
    constexpr std::uint64_t kTenths = 9;
    std::uint64_t ids = 0;
    std::uint64_t right = 0;
    for (const KinetoEvent& event : profile_.events) {
      if (is_device_work(event) && event.external_id > 0) {
        ++ids;
        right += is_named_by(find(named_, event.external_id), event) ? 1U : 0U;
      }
    }
    if (10 * right < kTenths * ids) {
      named_.clear();
    }
  }

  [[nodiscard]] bool is_named_by(EventIndex found, const KinetoEvent& work) const {
    if (found == kUnknownEvent || work.external_id == work.correlation) {
      return false;
    }
    const KinetoEvent& op = at(found);
    const EventIndex call = find(calls_, work.correlation);
    return call == kUnknownEvent
               ? op.ts_ns <= work.ts_ns
               : are_on_one_thread(op, at(call)) && distance_ns(op, at(call)) <= kClockErrorNs;
  }

  /// Returns how far outside of an operator a call began.
  static std::int64_t distance_ns(const KinetoEvent& op, const KinetoEvent& call) {
    return std::max({std::int64_t{0}, op.ts_ns - call.ts_ns, call.ts_ns - stretch_of(op).end_ns});
  }

  /// `time_ns` is the time of the work, used if its call is unknown. `named` is the operator that
  /// "External id" names; it counts if the call began just outside of it.
  [[nodiscard]] DeviceLaunch launch_by(EventIndex call, std::int64_t time_ns,
                                       EventIndex named = kUnknownEvent) const {
    DeviceLaunch launch;
    launch.call = call;
    launch.launch_ns = time_ns;
    if (call != kUnknownEvent) {
      launch.launch_ns = at(call).ts_ns;
      if (at(call).category == KinetoCategory::kCpuOp) {
        launch.launcher = call;
      } else if (named != kUnknownEvent && distance_ns(at(named), at(call)) > 0) {
        launch.launcher = named;
      } else if (const auto around = innermost_around(operators_, at(call))) {
        launch.launcher = place(*operators_[*around].event);
      }
    }
    launch.by = call != kUnknownEvent && is_graph_launch(at(call)) ? LaunchedBy::kGraph
                : launch.launcher == kUnknownEvent                 ? LaunchedBy::kNothing
                : contains(at(launch.launcher).name, "::")         ? LaunchedBy::kOperator
                                                                   : LaunchedBy::kLabel;
    launch.step = step_of(launch);
    return launch;
  }

  [[nodiscard]] EventIndex step_of(const DeviceLaunch& launch) const {
    const DeviceStep& last = line_.steps.back();
    const bool is_behind_last =
        !last.name.empty() && launch.call != kUnknownEvent && launch.launch_ns >= last.mark.end_ns;
    return is_behind_last ? kUnknownEvent : line_.step_at(launch.launch_ns);
  }

  /// Finds the launches of kernels and copies by thread, in order. A call below another is a part
  /// of it.
  [[nodiscard]] std::vector<SharedLaunch> work_launches() const {
    std::unordered_map<EventIndex, std::vector<EventIndex>> work;  // by call
    for (EventIndex i = 0; i < profile_.events.size(); ++i) {
      if (is_device_work(at(i))) {
        work[find(calls_, at(i).correlation)].push_back(i);
      }
    }
    std::vector<SharedLaunch> launches;
    for (std::size_t i = 0; i < calls_by_thread_.size(); ++i) {
      const NestedEvent& call = calls_by_thread_[i];
      if (call.parent || kind_of(*call.event) != CallKind::kWork || is_graph_launch(*call.event) ||
          is_captured(*call.event)) {
        continue;
      }
      launches.push_back({place(*call.event), {}});
      for (std::size_t part = i; part < call.end; ++part) {
        std::ranges::copy(work[place(*calls_by_thread_[part].event)],
                          std::back_inserter(launches.back().events));
      }
    }
    return launches;
  }

  // ---- device events

  void add_work(EventIndex source) {
    const KinetoEvent& work = at(source);
    const auto shared = shared_.find(source);
    const bool is_shared = shared != shared_.end();
    const EventIndex named = is_shared ? kUnknownEvent : find(named_, work.external_id);
    EventIndex call = is_shared ? shared->second : find(calls_, work.correlation);
    call = call == kUnknownEvent ? named : call;
    answer(call);
    const DeviceLaunch launch =
        launch_by(call, work.ts_ns, is_named_by(named, work) ? named : kUnknownEvent);
    // If CUPTI's records are lost, Kineto writes zeros.
    const bool has_zeros = work.ts_ns == profile_.base_time_ns && work.dur_ns == 0;
    if (work.dur_ns < 0 || has_zeros) {
      add_lost({launch, LostBy::kNoTime, source}, call == kUnknownEvent);
      return;
    }
    line_.by_external_id += launch.launcher == call && call != kUnknownEvent ? 1U : 0U;
    const EventIndex stream = stream_of(work);
    line_.streams[stream].events.push_back(static_cast<EventIndex>(line_.events.size()));
    line_.events.push_back(
        {launch, source, stream, work.ts_ns, stretch_of(work).end_ns, class_of(work, launch)});
  }

  /// Equal names of a profile share an address, so each is classified once.
  [[nodiscard]] std::string_view class_of(const KinetoEvent& work, const DeviceLaunch& launch) {
    const std::string_view op =
        launch.launcher == kUnknownEvent ? std::string_view() : at(launch.launcher).name;
    if (op == "record_param_comms" || op.starts_with("c10d::") || is_labelled(work, launch) ||
        communicating_.contains(place(work))) {
      return "communication";
    }
    const auto [known, is_new] = classes_.try_emplace(work.name.data());
    if (is_new) {
      known->second = kernel_class(work.name);
    }
    return known->second;
  }

  /// Returns true for work within a label of communication, of the host or of the stream, unless an
  /// operator in the label launched it.
  [[nodiscard]] bool is_labelled(const KinetoEvent& work, const DeviceLaunch& launch) const {
    if (labels_.empty()) {
      return false;
    }
    const bool is_known = launch.call != kUnknownEvent;
    const auto label = innermost_around(labels_, is_known ? at(launch.call) : work);
    return label && (launch.launcher == kUnknownEvent ||
                     at(launch.launcher).ts_ns <= labels_[*label].event->ts_ns);
  }

  EventIndex stream_of(const KinetoEvent& work) {
    const std::int64_t thread = work.stream >= 0 ? -1 : work.tid;
    const auto [found, is_new] = streams_.try_emplace(
        std::tuple(work.pid, work.device, work.stream, thread), line_.streams.size());
    if (is_new) {
      std::int64_t number = std::max({work.stream, thread, std::int64_t{0}});
      while (!numbers_.insert(number).second) {
        number = *numbers_.rbegin() + 1;
      }
      line_.streams.push_back({work.pid, number, {}});
    }
    return static_cast<EventIndex>(found->second);
  }

  void sort_and_clip(DeviceStream& stream) {
    std::vector<DeviceEvent>& events = line_.events;
    std::ranges::stable_sort(stream.events, {}, [&events](EventIndex i) {
      return std::pair(events[i].start_ns, events[i].end_ns);
    });
    // The first later event that another call launched. One without duration refutes nothing.
    const DeviceEvent* next = nullptr;
    for (std::size_t i = stream.events.size(); i-- > 1;) {
      const DeviceEvent& after = events[stream.events[i]];
      DeviceEvent& event = events[stream.events[i - 1]];
      const bool is_of_another = event.call == kUnknownEvent || event.call != after.call;
      next = is_of_another && at(after.source).dur_ns > 0 ? &after : next;
      if (next != nullptr && event.end_ns > next->start_ns &&
          event.end_ns - next->start_ns >=
              std::max(kNormalOverlapNs, std::min(event.ns(), next->ns()) / kNormalOverlapShare)) {
        event.end_ns = next->start_ns;
        ++line_.clipped;
      }
    }
  }

  /// Bounds unknown launches: work is launched before it starts, and before the stream's next work.
  void bound_launches(const DeviceStream& stream) {
    std::int64_t next_ns = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = stream.events.size(); i-- > 0;) {
      DeviceEvent& event = line_.events[stream.events[i]];
      if (event.call == kUnknownEvent) {
        event.launch_ns = std::min(next_ns, event.launch_ns);
      }
      next_ns = event.launch_ns;
    }
  }

  /// Work was launched before the profile began if it lies before the first known launch on its
  /// stream, or, on a stream without, began before the profile's first known launch, or before such
  /// work of another stream ended.
  void find_steps() {
    std::vector<std::size_t> backlog;  // by stream: its first events
    std::int64_t begun_ns = kEver;
    std::int64_t behind_ns = std::numeric_limits<std::int64_t>::min();  // end of such work
    const auto is_known = [this](EventIndex i) { return line_.events[i].call != kUnknownEvent; };
    for (const DeviceStream& stream : line_.streams) {
      const auto first = std::ranges::find_if(stream.events, is_known);
      backlog.push_back(static_cast<std::size_t>(first - stream.events.begin()));
      if (first != stream.events.end()) {
        begun_ns = std::min(begun_ns, line_.events[*first].launch_ns);
        behind_ns = first == stream.events.begin()
                        ? behind_ns
                        : std::max(behind_ns, line_.events[*std::prev(first)].end_ns);
      }
    }
    for (std::size_t s = 0; s < line_.streams.size(); ++s) {
      const std::vector<EventIndex>& events = line_.streams[s].events;
      for (std::size_t i = 0; i < events.size(); ++i) {
        DeviceEvent& event = line_.events[events[i]];
        const bool is_before =
            i < backlog[s] && begun_ns != kEver &&
            (backlog[s] < events.size() || event.start_ns < std::max(begun_ns, behind_ns));
        event.step = is_before ? kUnknownEvent : step_of(event);
      }
    }
  }

  // ---- launches without events

  void add_lost(const LostLaunch& lost, bool is_launch) {
    ++line_.lost_by[static_cast<std::size_t>(lost.why)];
    line_.lost.push_back(lost);
    if (is_lost_work(lost.why) && lost.step != kUnknownEvent) {
      ++line_.steps[lost.step].lost;
      line_.steps[lost.step].launches += is_launch ? 1U : 0U;
    }
  }

  void find_lost() {
    const std::vector<NestedEvent>& calls = calls_by_thread_;
    // A nested call is the driver's part of the runtime's call.
    for (std::size_t i = calls.size(); i-- > 0;) {
      if (calls[i].parent && is_answered_[place(*calls[i].event)]) {
        is_answered_[place(*calls[*calls[i].parent].event)] = true;
      }
    }
    // If no call matches an event, correlations cannot show which launches lost theirs.
    const bool have_calls =
        line_.events.empty() || std::ranges::any_of(calls, [&](const auto& call) {
          return is_answered_[place(*call.event)];
        });
    for (const NestedEvent& nested : calls) {
      const KinetoEvent& call = *nested.event;
      const CallKind kind = kind_of(call);
      if (nested.parent || kind > CallKind::kMemset) {
        continue;
      }
      const DeviceLaunch launch = launch_by(place(call), 0);
      // If "External id" links work to an operator, none of the operator's calls counts as lost.
      const bool is_lost = have_calls && call.correlation > 0 && !is_answered_[launch.call] &&
                           (launch.launcher == kUnknownEvent || !is_answered_[launch.launcher]);
      if (is_lost) {
        add_lost({launch, is_captured(call)           ? LostBy::kCaptured
                          : kind == CallKind::kMemset ? LostBy::kMemset
                          : !profile_.ranges.empty()  ? LostBy::kRanged
                                                      : LostBy::kNoEvent},
                 true);
      } else if (kind == CallKind::kWork && launch.step != kUnknownEvent) {
        ++line_.steps[launch.step].launches;
      }
    }
  }

  /// Finds the times at which streams of each process were being captured into a graph.
  void find_captures() {
    std::map<std::int64_t, const KinetoEvent*> marks;  // by time
    for (const NestedEvent& call : calls_by_thread_) {
      if (kind_of(*call.event) > CallKind::kMemset) {
        marks.emplace(call.event->ts_ns, call.event);
      }
    }
    for (const auto& [ts_ns, mark] : marks) {
      if (kind_of(*mark) == CallKind::kBeginCapture) {
        captures_.push_back({mark->pid, {ts_ns, std::numeric_limits<std::int64_t>::max()}});
      } else if (!captures_.empty()) {
        captures_.back().second.end_ns = std::min(captures_.back().second.end_ns, ts_ns);
      }
    }
  }

  [[nodiscard]] bool is_captured(const KinetoEvent& call) const {
    return std::ranges::any_of(captures_, [&call](const auto& capture) {
      const auto& [pid, time] = capture;
      return pid == call.pid && time.start_ns <= call.ts_ns && call.ts_ns < time.end_ns;
    });
  }

  const Profile& profile_;
  std::vector<NestedEvent> calls_by_thread_;  ///< runtime calls that launch or capture
  std::vector<NestedEvent> labels_;           ///< of communication
  std::vector<NestedEvent> operators_;
  std::vector<bool> is_answered_;  ///< by event of the profile: true if its work was recorded
  ById calls_;                     ///< runtime calls by correlation
  ById named_;                     ///< operators by "External id"; empty if the ids are not used
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::size_t>
      streams_;
  std::set<std::int64_t> numbers_;      ///< of streams
  std::set<EventIndex> communicating_;  ///< kernels, by their metadata
  std::unordered_map<const char*, std::string_view> classes_;
  std::unordered_map<EventIndex, EventIndex> shared_;       ///< launches of shared-out work
  std::vector<std::pair<std::int64_t, Stretch>> captures_;  ///< with the process
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

DeviceTimeline device_timeline(const Profile& profile, const Stretches& spans) {
  return Builder(profile).build(spans);
}

RecordedDevice recorded_device(const Profile& profile, const DeviceTimeline& timeline) {
  std::map<std::int64_t, std::size_t> events;
  for (const DeviceStream& stream : timeline.streams) {
    events[stream.pid] += stream.events.size();
  }
  const auto most =
      std::ranges::max_element(events, {}, [](const auto& row) { return row.second; });
  return most == events.end() ? RecordedDevice() : profile.device(most->first);
}

}  // namespace understudy::et_schema
