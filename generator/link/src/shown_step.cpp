#include "shown_step.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "generator/link/launch_counters.h"
#include "statistics.h"
#include "waits.h"

namespace understudy::generator {
namespace {

using et_schema::DeviceEvent;
using et_schema::DeviceWait;
using et_schema::EventIndex;
using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::kUnknownEvent;

/// Upper bound of the difference between the clocks of host and device.
constexpr std::int64_t kClockErrorNs = 2'000;

/// A call that waited.
struct WaitingCall {
  const KinetoEvent* call = nullptr;
  DeviceWait::For waits_for = DeviceWait::For::kDevice;
  EventIndex awaited = kUnknownEvent;  ///< position in DeviceTimeline::events
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

class Shower {
 public:
  explicit Shower(const ShownStepInputs& inputs)
      : in_(inputs),
        spans_(launch_spans(inputs.join, inputs.host)),
        syncs_(et_schema::sync_records(inputs.host.sources)) {}

  ShownStep show() {
    for (const DeviceEvent& event : in_.device.events) {
      events_.push_back({at(event.launch_ns), at(event.start_ns), at(event.end_ns)});
    }
    measure_steps();
    clock_.emplace(in_.layout, in_.join.steps[chosen_], in_.host);
    find_threads();
    add_waits();
    add_work();
    lengthen();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int64_t at(std::int64_t time_ns) const { return in_.host.relative(time_ns); }

  // ---- which step

  void measure_steps() {
    const std::vector<JoinedStep>& steps = in_.join.steps;
    const std::vector<EventIndex> usable = in_.device.usable_steps();
    std::vector<std::pair<std::int64_t, std::size_t>> lengths;
    std::vector<std::int64_t> host_ns;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      host_ns.push_back(steps[s].end_ns(in_.host) - steps[s].begin_ns(in_.host));
      const HostIndex mark = steps[s].span.mark;
      const EventIndex of = mark == kNoEvent ? static_cast<EventIndex>(s)
                                             : in_.device.step_at(in_.host.source(mark).ts_ns);
      if (std::ranges::binary_search(usable, of)) {
        lengths.emplace_back(in_.device.steps[of].length_ns, s);
      }
    }
    const std::vector<et_schema::DeviceStep>& marked = in_.device.steps;
    for (std::size_t i = 0; i + 1 < marked.size(); ++i) {
      result_.host_runs_ahead |= marked[i].end_ns > marked[i + 1].mark.start_ns;
    }
    std::ranges::sort(lengths);
    if (lengths.empty()) {
      return;
    }
    chosen_ = lengths[(lengths.size() - 1) / 2].second;
    if (!events_.empty()) {
      // The typical step's host time excludes the cost of recording.
      const std::int64_t observer_ns = median(host_ns) - in_.layout.step_ns;
      result_.length_ns =
          lengths[(lengths.size() - 1) / 2].first - std::max<std::int64_t>(observer_ns, 0);
    }
  }

  // ---- its host

  /// Finds the traced thread of each thread of the profile.
  void find_threads() {
    const std::vector<HostIndex>& events = in_.join.steps[chosen_].event_of;
    for (std::size_t i = events.size(); i-- > 0;) {
      if (events[i] != kNoEvent) {
        const KinetoEvent& event = in_.host.source(events[i]);
        threads_[{event.pid, event.tid}] = in_.trace.nodes[in_.nodes.nodes[i]].tid;
      }
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> thread_of(const KinetoEvent& call) const {
    const auto found = threads_.find({call.pid, call.tid});
    return found == threads_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Returns calls that only wait, and copies that returned when they were done.
  [[nodiscard]] std::vector<WaitingCall> find_calls() const {
    std::vector<WaitingCall> calls;
    const auto add = [&](const KinetoEvent& call, DeviceWait::For waits_for, EventIndex awaited) {
      const std::int64_t start_ns = at(call.ts_ns);
      const std::int64_t end_ns = at(add_times(call.ts_ns, std::max(call.dur_ns, kNothing)));
      const bool is_over = awaited == kUnknownEvent || events_[awaited].end_ns <= end_ns;
      if (is_over && spans_[chosen_].contains(start_ns) && thread_of(call)) {
        calls.push_back({&call, waits_for, awaited, start_ns, end_ns});
      }
    };
    for (const KinetoEvent& event : in_.host.sources) {
      if (const auto waits_for = et_schema::what_waits(event)) {
        add(event, *waits_for, kUnknownEvent);
      }
    }
    for (EventIndex i = 0; i < events_.size(); ++i) {
      const EventIndex call = in_.device.events[i].call;
      if (call != kUnknownEvent && is_copy(in_.host.sources[call])) {
        add(in_.host.sources[call], DeviceWait::For::kStream, i);
      }
    }
    std::ranges::stable_sort(calls, {}, &WaitingCall::start_ns);
    return calls;
  }

  void add_waits() {
    std::map<std::uint64_t, std::int64_t> busy_until_ns;  // by thread
    for (WaitingCall& wait : find_calls()) {
      const std::uint64_t thread = *thread_of(*wait.call);
      if (wait.start_ns < busy_until_ns[thread]) {
        continue;  // the driver's part of a runtime's call
      }
      busy_until_ns[thread] = wait.end_ns;
      if (wait.awaited == kUnknownEvent) {
        wait.awaited = awaited_by(wait);
      }
      const std::int64_t done_ns =
          wait.awaited == kUnknownEvent
              ? wait.start_ns
              : std::clamp(events_[wait.awaited].end_ns, wait.start_ns, wait.end_ns);
      const std::int64_t start_ns = clock_->typical(wait.start_ns);
      const std::int64_t host_ns = std::max(clock_->typical(wait.end_ns) - start_ns, kNothing);
      result_.waits.push_back({.start_ns = start_ns,
                               .host_ns = host_ns,
                               .waits_for = wait.waits_for,
                               .own_ns = std::min(wait.end_ns - done_ns, host_ns),
                               .thread = thread});
      calls_.push_back(wait);
    }
  }

  // ---- what a wait waited for

  /// Returns the number of the stream that is waited for: of a wait for an event, the stream that
  /// recorded it. Returns -1 if the profile does not show the stream.
  [[nodiscard]] std::int64_t stream_of(const WaitingCall& wait) const {
    const auto sync = syncs_.find(wait.call->correlation);
    return sync == syncs_.end()                        ? -1
           : wait.waits_for == DeviceWait::For::kEvent ? sync->second->wait_stream
                                                       : sync->second->stream;
  }

  /// Returns the work launched before the wait, on its streams, that ended last by the wait's end.
  /// Unless the wait is for an event, all work of a stream must have ended.
  [[nodiscard]] EventIndex awaited_by(const WaitingCall& wait) {
    const std::int64_t stream_number =
        wait.waits_for == DeviceWait::For::kDevice ? -1 : stream_of(wait);
    const auto is_launched = [&](EventIndex i) { return events_[i].launch_ns < wait.start_ns; };
    const auto has_ended = [&](EventIndex i) {
      return events_[i].end_ns <= add_times(wait.end_ns, kClockErrorNs);
    };
    EventIndex awaited = kUnknownEvent;
    for (const et_schema::DeviceStream& stream : in_.device.streams) {
      auto end = std::ranges::partition_point(stream.events, is_launched);
      if (wait.waits_for == DeviceWait::For::kEvent) {
        end = std::min(end, std::ranges::partition_point(stream.events, has_ended));
      }
      const bool is_known = stream_number >= 0 && stream.number == stream_number;
      if (end == stream.events.begin() || (stream_number >= 0 && !is_known)) {
        continue;
      }
      const EventIndex last = *std::prev(end);
      if ((is_known || has_ended(last)) &&
          (awaited == kUnknownEvent || events_[last].end_ns > events_[awaited].end_ns)) {
        awaited = last;
      }
    }
    return awaited;
  }

  // ---- its device

  void add_work() {
    std::vector<std::tuple<std::int64_t, std::int64_t, EventIndex>> order;
    for (EventIndex i = 0; i < events_.size(); ++i) {
      if (spans_[chosen_].contains(events_[i].launch_ns) &&
          in_.device.events[i].step != kUnknownEvent) {
        order.emplace_back(launch_of(i), events_[i].start_ns, i);
      }
    }
    std::ranges::sort(order);
    std::unordered_map<EventIndex, std::uint32_t> place_of;
    const std::int64_t begin_ns = in_.join.steps[chosen_].begin_ns(in_.host);
    const std::int64_t end_ns = in_.join.steps[chosen_].end_ns(in_.host);
    for (const auto& [launched_ns, start_ns, i] : order) {
      const std::int64_t launch_ns = std::min(launched_ns, end_ns);
      const DeviceEvent& event = in_.device.events[i];
      place_of[i] = static_cast<std::uint32_t>(result_.work.size());
      LaunchedWork& added = result_.work.emplace_back();
      added.node = in_.owners[i].node;
      added.communicates = in_.owners[i].communicates;
      added.work.why = event.by == et_schema::LaunchedBy::kGraph ? et_schema::Outside::kGraphLaunch
                                                                 : et_schema::Outside::kUnlinked;
      if (event.call != kUnknownEvent) {
        added.work.thread = thread_of(in_.host.sources[event.call]).value_or(0);
      }
      added.work.lag_ns = std::max(start_ns - launch_ns, kNothing);
      added.work.launch_ns = clock_->typical(launch_ns);
      added.work.start_ns = start_ns - begin_ns;
      added.work.device_ns = std::min(in_.owners[i].ns, kLatestNs);
      added.work.stream = in_.device.streams[event.stream].number;
      const KinetoEvent& source = in_.host.sources[event.source];
      if (source.category == KinetoCategory::kKernel) {
        result_.kernels.push_back({added.node, kernel_base_name(source.name)});
      }
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (const auto place = place_of.find(calls_[i].awaited); place != place_of.end()) {
        result_.waits[i].work = place->second;
      }
    }
    std::ranges::stable_sort(result_.waits, {}, &DeviceWait::start_ns);
  }

  /// Extends the length to the end of the last stream's work, launched without the observer's cost.
  /// A host that waits for the device spends that cost while it would otherwise wait.
  void lengthen() {
    std::map<std::int64_t, std::int64_t> ends_ns;  // by stream
    for (const LaunchedWork& one : result_.work) {
      std::int64_t& end_ns = ends_ns[one.work.stream];
      // Where steps overlap, work is launched during the preceding step.
      const std::int64_t launch_ns = result_.host_runs_ahead ? 0 : one.work.launch_ns;
      end_ns = add_times(std::max(end_ns, launch_ns), one.work.device_ns);
      result_.length_ns = std::max(result_.length_ns, end_ns);
    }
  }

  /// Returns the launch time; if it is unknown and within a wait of the host, the wait's start.
  [[nodiscard]] std::int64_t launch_of(EventIndex event) const {
    const std::int64_t launch_ns = events_[event].launch_ns;
    const auto wait = std::ranges::find_if(calls_, [launch_ns](const WaitingCall& call) {
      return call.start_ns < launch_ns && launch_ns < call.end_ns;
    });
    const bool is_known = in_.device.events[event].call != kUnknownEvent;
    return is_known || wait == calls_.end() ? launch_ns : wait->start_ns;
  }

  /// A device event, in host time.
  struct Event {
    std::int64_t launch_ns, start_ns, end_ns;
  };
  static constexpr std::int64_t kNothing = 0;

  const ShownStepInputs& in_;
  std::vector<StepSpan> spans_;
  std::map<std::int64_t, const KinetoEvent*> syncs_;  ///< by correlation
  std::vector<Event> events_;
  std::size_t chosen_ = 0;
  std::optional<StepClock> clock_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> threads_;
  std::vector<WaitingCall> calls_;  ///< calls of result_.waits
  ShownStep result_;
};

}  // namespace

ShownStep shown_step(const ShownStepInputs& inputs) {
  return Shower(inputs).show();
}

}  // namespace understudy::generator
