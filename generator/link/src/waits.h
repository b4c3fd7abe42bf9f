#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "join.h"
#include "layout.h"

namespace understudy::generator {

inline constexpr std::size_t kStepEnd = ~std::size_t{0};

/// A call of a device's runtime that only waits for the device, in one profiled step.
struct HostWait {
  std::size_t step = 0;  ///< in Join::steps
  /// Position in JoinNodes of the node that its thread begins next, or kStepEnd.
  std::size_t before = kStepEnd;
  std::int64_t start_ns = 0;
  std::int64_t ahead_ns = 0;  ///< from its start to that node
  std::int64_t host_ns = 0;
  et_schema::DeviceWait::For waits_for = et_schema::DeviceWait::For::kDevice;
};

/// A call that has a stream, or the host, wait for an event of another stream, in one profiled
/// step.
struct EventWait : HostWait {
  std::optional<HostWait> record;      ///< the one that recorded the event, in the same step
  std::optional<std::int64_t> stream;  ///< that waits; none: the host
  std::int64_t for_stream = 0;
};

/// Those of a profile's steps, in order of start, where cuda_sync events show them.
[[nodiscard]] std::vector<EventWait> find_event_waits(const HostEvents& host, const Join& join);

/// Those that at least half of the steps show, at their places in the typical step.
[[nodiscard]] std::vector<et_schema::StreamWait> lay_out_event_waits(
    const std::vector<EventWait>& waits, const Layout& layout, std::size_t steps);

/// The waits of a profile's steps, in order of start: cudaStreamSynchronize, hipEventSynchronize,
/// aclrtSynchronizeDevice, … `host` must still have the profile's times, as the waits have. The
/// time is n log n.
[[nodiscard]] std::vector<HostWait> find_waits(const HostEvents& host, const Join& join);

/// How long a step's host, before the profile shows a launch, waited for work that was launched
/// before it began, beyond the time for which the device is busy with the step's own work once
/// its host has ended: the median over the steps. `host` as for find_waits().
[[nodiscard]] std::int64_t awaited_before(const HostEvents& host, const Join& join,
                                          const et_schema::DeviceTimeline& device,
                                          const std::vector<HostWait>& waits);

/// The waits that at least half of the steps show, with medians over the steps, at their places in
/// the typical step.
[[nodiscard]] std::vector<et_schema::DeviceWait> lay_out_waits(const std::vector<HostWait>& waits,
                                                               const Layout& layout,
                                                               std::size_t steps);

}  // namespace understudy::generator
