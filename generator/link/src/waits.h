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

/// For what a call of a device's runtime does nothing but wait; nothing: it is no such call. All
/// runtimes give these calls the same names: cudaStreamSynchronize, hipEventSynchronize,
/// aclrtSynchronizeDevice.
[[nodiscard]] std::optional<et_schema::DeviceWait::For> what_waits(
    const et_schema::KinetoEvent& event);

/// Whether it is a copy: some return when they are done.
[[nodiscard]] bool is_copy(const et_schema::KinetoEvent& call);

/// The place of a call in one profiled step.
struct CallPlace {
  std::size_t step = 0;  ///< in Join::steps
  /// Position in JoinNodes of the node that its thread begins next, or kStepEnd.
  std::size_t before = kStepEnd;
  std::int64_t ahead_ns = 0;  ///< from its start to that node
};

/// A call that has a stream, or the host, wait for an event of another stream, in one profiled
/// step.
struct EventWait : CallPlace {
  std::optional<CallPlace> record;     ///< the one that recorded the event, in the same step
  std::optional<std::int64_t> stream;  ///< that waits; none: the host
  std::int64_t for_stream = 0;
};

/// Those of a profile's steps, in order of start, where cuda_sync events show them.
[[nodiscard]] std::vector<EventWait> find_event_waits(const HostEvents& host, const Join& join);

/// Those that at least half of the steps show, at their places in the typical step.
[[nodiscard]] std::vector<et_schema::StreamWait> lay_out_event_waits(
    const std::vector<EventWait>& waits, const Layout& layout, std::size_t steps);

}  // namespace understudy::generator
