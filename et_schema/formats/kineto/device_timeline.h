#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/stretches.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Index into a list of a DeviceTimeline or into Profile::events.
using EventIndex = std::uint32_t;
inline constexpr EventIndex kUnknownEvent = std::numeric_limits<EventIndex>::max();

/// Kind of launcher of a device event.
enum class LaunchedBy : std::uint8_t {
  kOperator,  ///< an operator was open
  kLabel,     ///< only labels were open: an autograd node, a custom function
  kGraph,     ///< a CUDA or HIP graph launched it; no operator is open in a graph
  kNothing    ///< no operator was open, or the profile lacks the launch
};
/// Returns "operator", "label without operator", "graph launch" or "unlinked".
[[nodiscard]] std::string_view to_string(LaunchedBy by);

/// Returns true for launches of a CUDA or HIP graph, whose kernels belong to no single operator.
[[nodiscard]] bool is_graph_launch(const KinetoEvent& call);

/// The launch of a device event.
struct DeviceLaunch {
  /// The runtime's call, or the operator if only "External id" identifies the launch.
  EventIndex call = kUnknownEvent;
  EventIndex launcher = kUnknownEvent;  ///< the innermost cpu_op around the call
  LaunchedBy by = LaunchedBy::kNothing;
  std::int64_t launch_ns = 0;  ///< start of the call; if unknown, the latest possible one
  /// Step in which the event was launched. kUnknownEvent for a launch before the first mark, behind
  /// the last one, or before the profile.
  EventIndex step = kUnknownEvent;
};

/// A kernel, copy or memset.
struct DeviceEvent : DeviceLaunch {
  EventIndex source = 0;      ///< index into Profile::events
  EventIndex stream = 0;      ///< index into DeviceTimeline::streams
  std::int64_t start_ns = 0;  ///< on the host's clock, as is `end_ns`
  std::int64_t end_ns = 0;    ///< clipped if the stream's next event begins before
  /// "communication" for all work of a communication, otherwise kernel_class() of the name.
  std::string_view kernel_class = {};
  [[nodiscard]] std::int64_t ns() const { return end_ns - start_ns; }
  [[nodiscard]] Stretch stretch() const { return {start_ns, end_ns}; }
};

/// A queue of one device. Its events run one after another.
struct DeviceStream {
  std::int64_t pid = 0;            ///< pid of its events
  std::int64_t number = 0;         ///< "stream", or another number if two streams share it
  std::vector<EventIndex> events;  ///< indices into DeviceTimeline::events, ordered by start
};

/// Why the profile has no device time for a launch. Only the first two are losses.
enum class LostBy : std::uint8_t {
  kNoEvent,   ///< the event of a kernel, copy or graph is missing
  kNoTime,    ///< the event has no time
  kMemset,    ///< most profiles have no events of memsets
  kCaptured,  ///< the launch was captured into a graph and did not run
  kRanged     ///< the range profiler measured it (cuda_profiler_range)
};
inline constexpr std::size_t kLostByCount = 5;
[[nodiscard]] constexpr bool is_lost_work(LostBy why) {
  return why <= LostBy::kNoTime;
}

/// A launch without a device event, or with one that has no time.
struct LostLaunch : DeviceLaunch {
  LostBy why = LostBy::kNoEvent;
  EventIndex source = kUnknownEvent;  ///< the event without a time
};

/// A step marked by ProfilerStep#. Without marks, the whole profile is one step.
struct DeviceStep {
  std::string_view name;  ///< "ProfilerStep#3"; empty without marks
  Stretch mark;  ///< without marks, from the first operator or device event to the last end
  std::int64_t end_ns = 0;  ///< the later of the mark's end and the end of the step's device work
  std::uint64_t launches = 0;  ///< launches of kernels, copies and graphs
  std::uint64_t lost = 0;      ///< launches that lost work; see is_lost_work()
  /// The step's share of the time: docs/metrics.md, "The device's timeline".
  std::int64_t length_ns = 0;
};

/// What a profile does not tell of its device, or tells wrongly.
struct DeviceDoubts {
  std::uint64_t launches = 0;     ///< of kernels, copies and graphs
  std::uint64_t lost = 0;         ///< of these, without a device event, or with one without a time
  std::uint64_t whole_steps = 0;  ///< steps that lost none; if there are any, they alone are used
  std::uint64_t unknown = 0;      ///< device events of an unknown category
  /// Largest time by which device events were moved, since their clock contradicted the host's.
  std::int64_t clock_shift_ns = 0;
  bool is_clock_unknown = false;  ///< no such move explains all launches and waits
  [[nodiscard]] bool knows_times() const { return unknown == 0 && (lost == 0 || whole_steps > 0); }
};

/// Returns sentences on them, which every verb says first; empty if there is nothing to say.
[[nodiscard]] std::string doubt_text(const DeviceDoubts& doubts);

/// Device activity of a profile: the source of all sums, busy times, steps and simulations.
struct DeviceTimeline {
  std::vector<DeviceEvent> events;    ///< events with times, in the file's order
  std::vector<DeviceStream> streams;  ///< ordered by their first events in the file
  std::vector<LostLaunch> lost;
  std::vector<DeviceStep> steps;     ///< in order of time; at least one
  std::uint64_t by_external_id = 0;  ///< events whose call is an operator
  std::uint64_t clipped = 0;         ///< durations clipped at the start of the stream's next event
  std::int64_t clock_shift_ns = 0;   ///< as DeviceDoubts::clock_shift_ns
  bool is_clock_unknown = false;
  std::array<std::uint64_t, kLostByCount> lost_by = {};  ///< number of `lost` by reason

  [[nodiscard]] std::uint64_t count(LostBy why) const {
    return lost_by[static_cast<std::size_t>(why)];
  }
  /// Returns the number of kernels, copies and memsets, including events without times.
  [[nodiscard]] std::uint64_t total() const { return events.size() + count(LostBy::kNoTime); }
  [[nodiscard]] std::uint64_t lost_work() const {
    return count(LostBy::kNoEvent) + count(LostBy::kNoTime);
  }
  /// Returns the step of work launched at this time; kUnknownEvent before the first mark.
  [[nodiscard]] EventIndex step_at(std::int64_t time_ns) const;
  /// Returns true if every step lost work, so that all sums over steps are too small.
  [[nodiscard]] bool is_incomplete() const;
  /// Returns the steps that lost no work, in order; all steps if each lost some.
  [[nodiscard]] std::vector<EventIndex> usable_steps() const;
  /// Returns the time in which any of the events ran, as disjoint stretches in order.
  [[nodiscard]] static Stretches busy(const std::vector<DeviceEvent>& events);
};

/// Builds the timeline (docs/metrics.md, "The device's timeline"). Takes O(n log n) time in the
/// profile's events.
///
/// "External id" identifies the launch if no call has the work's correlation. In profiles up to
/// 2023 the id of device work is its correlation, which matches operators by chance. So the ids are
/// used only if 90 % of the profile's ids name a plausible operator: one that was open at the
/// launch or within 100 µs of it, or, if the launch is unknown, one that had begun when the work
/// ran. Work whose launch lies just outside of the operator that it names belongs to that operator.
///
/// ROCm's profiles may give the work of two neighbouring launches the correlation of one: such work
/// is shared out in order. `spans` are the steps of a profile without marks.
[[nodiscard]] DeviceTimeline device_timeline(const Profile& profile, const Stretches& spans = {});

/// Returns what a profile does not tell of its device, or tells wrongly.
[[nodiscard]] DeviceDoubts doubts_of(const Profile& profile, const DeviceTimeline& timeline);

/// Returns what a call of a device's runtime waits for; empty if it does more than wait. All
/// runtimes name these calls alike: cudaStreamSynchronize, hipEventSynchronize,
/// aclrtSynchronizeDevice.
[[nodiscard]] std::optional<DeviceWait::For> what_waits(const KinetoEvent& event);

/// Returns the device's records of host calls (cuda_sync), by the calls' correlations.
[[nodiscard]] std::map<std::int64_t, const KinetoEvent*> sync_records(
    std::span<const KinetoEvent> events);

/// Returns the device that most of the work ran on; without a name if unknown.
[[nodiscard]] RecordedDevice recorded_device(const Profile& profile,
                                             const DeviceTimeline& timeline);

}  // namespace understudy::et_schema
