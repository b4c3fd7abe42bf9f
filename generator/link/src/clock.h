#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/link/host.h"

namespace understudy::generator {

/// What recording one event costs, and where in time that cost lies.
struct EventCost {
  double before_ns = 0;  ///< before the event's start
  double inside_ns = 0;  ///< between its start and its end
  double after_ns = 0;   ///< after its end
  std::string source;    ///< how it was found
  [[nodiscard]] double total_ns() const { return before_ns + inside_ns + after_ns; }
};

/// Reads the cost from the profile: the time that even the cheapest events take (docs/metrics.md,
/// "Recorded times"). The profiler stamps an event's start last and its end first, so that its own
/// cost lies outside of the event; the cost of an execution trace taken with it (`with_trace`) lies
/// inside too. If the total was measured (`known_total_ns`), the profile tells only how it is
/// distributed.
[[nodiscard]] EventCost find_event_cost(const HostEvents& host, bool with_trace,
                                        std::optional<double> known_total_ns);

/// Launches on a device, by the host's time, and what recording one costs.
struct LaunchCost {
  std::vector<std::int64_t> times_ns;  ///< in order
  double each_ns = 0;
};

/// Moves all starts and ends to where they would lie if recording cost nothing. Every stretch
/// between two successive starts or ends, on whatever thread, loses the cost that falls into it,
/// and at most its length: order and nesting stay.
void take_out(const EventCost& cost, const LaunchCost& launches, HostEvents& host);

}  // namespace understudy::generator
