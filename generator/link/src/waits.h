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

/// Returns true for a copy. Some copies return only when they are done.
[[nodiscard]] bool is_copy(const et_schema::KinetoEvent& call);

/// The place of a call in one profiled step.
struct CallPlace {
  std::size_t step = 0;  ///< position in Join::steps
  /// Position in JoinNodes of the next node that the call's thread begins, or kStepEnd.
  std::size_t before = kStepEnd;
  std::int64_t ahead_ns = 0;  ///< from the call's start to that node's start
};

/// A call that makes a stream, or the host, wait for an event of another stream, in one profiled
/// step.
struct EventWait : CallPlace {
  std::optional<CallPlace> record;     ///< the call that recorded the event, in the same step
  std::optional<std::int64_t> stream;  ///< the waiting stream; unset: the host
  std::int64_t for_stream = 0;
};

/// Returns the event waits in a profile's steps that cuda_sync events show, ordered by start.
[[nodiscard]] std::vector<EventWait> find_event_waits(const HostEvents& host, const Join& join);

/// Returns the waits that at least half of the steps show, at their places in the typical step.
[[nodiscard]] std::vector<et_schema::StreamWait> lay_out_event_waits(
    const std::vector<EventWait>& waits, const Layout& layout, std::size_t steps);

}  // namespace understudy::generator
