#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "et_schema/base/stretches.h"
#include "et_schema/formats/kineto/kineto.h"

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

/// How work of a device was launched.
struct DeviceLaunch {
  /// The runtime's call or, if "External id" alone tells the launch, the operator.
  EventIndex call = kUnknownEvent;
  EventIndex launcher = kUnknownEvent;  ///< the innermost cpu_op around the call
  LaunchedBy by = LaunchedBy::kNothing;
  std::int64_t launch_ns = 0;  ///< start of the call or, if it is unknown, the latest it can be
  /// Unknown: before or behind all of several; work of unknown launch that the device still had to
  /// do when a host that runs ahead of it made the first launch on its stream.
  EventIndex step = kUnknownEvent;
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
  std::int64_t pid = 0;            ///< of its events
  std::int64_t number = 0;         ///< "stream", or another number if two streams have that one
  std::vector<EventIndex> events;  ///< positions in DeviceTimeline::events, in order of start
};

/// Why the profile has no device time of a launch. All but the first two are normal.
enum class LostBy : std::uint8_t {
  kNoEvent,   ///< a kernel, copy or graph whose event is lost
  kNoTime,    ///< it has an event without a time
  kMemset,    ///< most profiles have no events of memsets
  kCaptured,  ///< the launch was captured into a graph, and did not run
  kRanged     ///< the range profiler measured it (cuda_profiler_range)
};
inline constexpr std::size_t kLostByCount = 5;
[[nodiscard]] constexpr bool is_lost_work(LostBy why) {
  return why <= LostBy::kNoTime;
}

/// A launch without a device event that has a time.
struct LostLaunch : DeviceLaunch {
  LostBy why = LostBy::kNoEvent;
  EventIndex source = kUnknownEvent;  ///< the event without a time
};

/// A step that ProfilerStep# marks; without marks, the whole profile is one.
struct DeviceStep {
  std::string_view name;  ///< "ProfilerStep#3"; empty without marks
  Stretch mark;  ///< without marks, from the first operator or device event to the last end
  std::int64_t end_ns = 0;  ///< the later of the mark's end and that of the last work it launched
  std::uint64_t launches = 0;  ///< of kernels, copies and graphs
  std::uint64_t lost = 0;      ///< of those; see is_lost_work()
  /// From its start to its end. If the host runs ahead of the device (the work of a step ends after
  /// the next step began), the median distance to the same work of the next step; of the last step,
  /// the distance between the ends of its work and of the work of the step before.
  std::int64_t length_ns = 0;
};

/// What the devices of a profile did: one list that sums, busy times, steps and simulations derive
/// from.
struct DeviceTimeline {
  std::vector<DeviceEvent> events;    ///< each with a time, in the file's order
  std::vector<DeviceStream> streams;  ///< in the order of their first events in the file
  std::vector<LostLaunch> lost;
  std::vector<DeviceStep> steps;     ///< in order of time; at least one
  std::uint64_t by_external_id = 0;  ///< events whose call is an operator
  std::uint64_t clipped = 0;         ///< durations that the stream's next event refuted
  std::array<std::uint64_t, kLostByCount> lost_by = {};  ///< `lost`, counted

  [[nodiscard]] std::uint64_t count(LostBy why) const {
    return lost_by[static_cast<std::size_t>(why)];
  }
  /// Kernels, copies and memsets, those without times included.
  [[nodiscard]] std::uint64_t total() const { return events.size() + count(LostBy::kNoTime); }
  [[nodiscard]] std::uint64_t lost_work() const {
    return count(LostBy::kNoEvent) + count(LostBy::kNoTime);
  }
  /// The step that has what was launched at this time of the profile; kUnknownEvent: before all of
  /// several.
  [[nodiscard]] EventIndex step_at(std::int64_t time_ns) const;
  /// Whether every step lost work: sums over it are too small.
  [[nodiscard]] bool is_incomplete() const;
  /// Steps that lost no work, in order; all of them if each lost some.
  [[nodiscard]] std::vector<EventIndex> usable_steps() const;
  /// The time in which any of the events ran, as separate stretches in order.
  [[nodiscard]] static Stretches busy(const std::vector<DeviceEvent>& events);
};

/// Builds the timeline (docs/metrics.md, "The device's timeline"). n log n in the profile's events.
///
/// "External id" tells a launch if no call has the work's correlation. Up to 2023 that id is the
/// correlation of device work, and hits operators by chance. So it counts only if nine of ten of
/// the profile's ids name an operator that was open when the work was launched, or that had begun
/// when work of unknown launch ran.
[[nodiscard]] DeviceTimeline device_timeline(const Profile& profile);

}  // namespace understudy::et_schema
