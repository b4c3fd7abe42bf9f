#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "et_schema/support/stretches.h"

namespace understudy::et_schema {

/// Position in a list of a DeviceTimeline or in Profile::events.
using EventIndex = std::uint32_t;
inline constexpr EventIndex kUnknownEvent = std::numeric_limits<EventIndex>::max();

/// What is known of the launch of a device event.
enum class LaunchedBy : std::uint8_t {
  kOperator,  ///< an operator was open
  kLabel,     ///< only what is no operator was: an autograd node, a custom function
  kGraph,     ///< a CUDA or HIP graph, in which no operator is open
  kNothing    ///< no operator was open, or no launch is in the profile
};
/// "operator", "label without operator", "graph launch", "unlinked".
[[nodiscard]] std::string_view to_string(LaunchedBy by);

/// Whether the call launches a whole graph (CUDA's or HIP's), whose kernels belong to no single
/// operator.
[[nodiscard]] bool is_graph_launch(const KinetoEvent& call);

/// The call of the host that launched work of a device.
struct DeviceLaunch {
  /// The runtime's call or, if "External id" alone tells the launch, the operator. kUnknownEvent:
  /// it is not in the profile.
  EventIndex call = kUnknownEvent;
  /// The innermost operator or label (cpu_op) that was open on the call's thread when it began.
  EventIndex launcher = kUnknownEvent;
  LaunchedBy by = LaunchedBy::kNothing;
  std::int64_t launch_ns = 0;       ///< start of the call or, if it is unknown, of the work
  EventIndex step = kUnknownEvent;  ///< step_at(launch_ns)
};

/// A kernel, copy or memset.
struct DeviceEvent : DeviceLaunch {
  EventIndex source = 0;  ///< position in Profile::events
  EventIndex stream = 0;  ///< position in DeviceTimeline::streams
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< clipped, if the next event of the stream refutes the duration
  [[nodiscard]] std::int64_t ns() const { return end_ns - start_ns; }
  [[nodiscard]] Stretch stretch() const { return {start_ns, end_ns}; }
};

/// A queue of one device, whose events run one after another.
struct DeviceStream {
  std::int64_t pid = 0;     ///< of its events
  std::int64_t device = 0;  ///< "device" of its events; -1: none
  std::int64_t stream = 0;  ///< "stream" of its events; -1: they have none, their thread tells it
  std::int64_t number = 0;  ///< unique in the profile: `stream`, unless another one has that number
  std::vector<EventIndex> events;  ///< positions in DeviceTimeline::events, in order of start
};

/// Why the profile has no device time of a launch.
enum class LostBy : std::uint8_t {
  kNoEvent,  ///< a kernel, copy or graph whose event is lost
  kNoTime,   ///< it has an event without a time
  // The rest is normal:
  kMemset,    ///< most profiles have no events of memsets
  kCaptured,  ///< the launch was captured into a graph, and did not run
  kRanged     ///< the range profiler measured it (cuda_profiler_range)
};
inline constexpr std::size_t kLostByCount = 5;
[[nodiscard]] constexpr bool is_lost_work(LostBy by) {
  return by <= LostBy::kNoTime;
}

/// A launch without a device event that has a time.
struct LostLaunch : DeviceLaunch {
  LostBy why = LostBy::kNoEvent;
  EventIndex source = kUnknownEvent;  ///< the event without a time
};

/// A step that ProfilerStep# marks; without marks, the whole profile is one.
struct DeviceStep {
  std::string_view name;    ///< "ProfilerStep#3"; empty without marks
  Stretch mark;             ///< without marks, from the first event to the last one's end
  std::int64_t end_ns = 0;  ///< the later of the mark's end and that of the last work it launched
  std::int64_t device_ns = 0;  ///< Σ duration of the work that it launched
  std::uint64_t events = 0;    ///< their number
  std::uint64_t launches = 0;  ///< of kernels, copies and graphs, lost ones included
  std::uint64_t lost = 0;      ///< of those; see is_lost_work()
  /// From its start to its end. If the host runs ahead of the device (the work of a step ends after
  /// the next step began), the median distance between the starts of its work and those of the
  /// same work in the next step; of the last step, the distance between the ends of its work and of
  /// the work of the step before.
  std::int64_t length_ns = 0;
};

/// What the devices of a profile did: one list that sums, busy times, steps and simulations derive
/// from.
struct DeviceTimeline {
  std::vector<DeviceEvent> events;    ///< each with a time, in the file's order
  std::vector<DeviceStream> streams;  ///< in the order of their first events in the file
  std::vector<LostLaunch> lost;       ///< in the file's order
  std::vector<DeviceStep> steps;      ///< in order of time; at least one
  std::uint64_t by_external_id = 0;   ///< events whose call is an operator
  std::uint64_t clipped = 0;          ///< durations that the stream's next event refuted
  std::array<std::uint64_t, kLostByCount> lost_by = {};  ///< `lost`, counted

  /// Kernels, copies and memsets, those without times included.
  [[nodiscard]] std::uint64_t total() const {
    return events.size() + lost_by[static_cast<std::size_t>(LostBy::kNoTime)];
  }
  /// The step that has what was launched at this time of the profile; kUnknownEvent: before all of
  /// several.
  [[nodiscard]] EventIndex step_at(std::int64_t time_ns) const;
  /// Launches whose work is lost, over the whole profile.
  [[nodiscard]] std::uint64_t lost_work() const;
  /// Steps that lost no work; all of them if each lost some.
  [[nodiscard]] std::vector<EventIndex> usable_steps() const;
  /// Whether every step lost work: sums over it are too small.
  [[nodiscard]] bool is_incomplete() const;
  /// The time in which anything ran on any device, as separate stretches in order; of the work that
  /// these steps launched.
  [[nodiscard]] Stretches busy() const;
  [[nodiscard]] Stretches busy(const std::vector<EventIndex>& of_steps) const;
};

/// Builds the timeline. n log n in the profile's events.
///
/// Launch: the runtime's call that shares the work's correlation or, where there is none, the
/// operator that its "External id" names. Up to 2023 that id is the correlation of device work, and
/// hits operators by chance. So it counts only if nine of ten of the profile's ids name an operator
/// that was open when the work was launched, or that had begun when work of unknown launch ran.
///
/// Streams: a duration that runs into the next event of its stream is clipped at that event's
/// start. It is not if that is below 5 µs or a tenth of the shorter event (programmatic launches
/// overlap so), or if both are of one graph launch.
[[nodiscard]] DeviceTimeline device_timeline(const Profile& profile);

}  // namespace understudy::et_schema
