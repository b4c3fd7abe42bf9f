#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/link/host.h"

namespace understudy::generator {

/// The cost of recording one event, by the time at which it is incurred.
struct EventCost {
  double before_ns = 0;  ///< before the event's start
  double inside_ns = 0;  ///< between its start and its end
  double after_ns = 0;   ///< after its end
  std::string source;    ///< how it was determined
  [[nodiscard]] double total_ns() const { return before_ns + inside_ns + after_ns; }
};

/// Estimates the cost from the profile: the time that even the cheapest events take
/// (docs/metrics.md, "Recorded times"). The profiler stamps an event's start last and its end
/// first, so its own cost is outside of the event. The cost of an execution trace recorded at the
/// same time (`with_trace`) is partly inside. If the total was measured (`known_total_ns`), the
/// profile decides only its distribution.
[[nodiscard]] EventCost find_event_cost(const HostEvents& host, bool with_trace,
                                        std::optional<double> known_total_ns);

/// Launches on a device, in host time, and the cost of recording one.
struct LaunchCost {
  std::vector<std::int64_t> times_ns;  ///< in order
  double each_ns = 0;
};

/// Moves all starts and ends to where they would be if recording cost nothing. The stretch between
/// two successive starts or ends, on any thread, is shortened by the cost within it, at most to 0.
/// Order and nesting are kept.
void take_out(const EventCost& cost, const LaunchCost& launches, HostEvents& host);

}  // namespace understudy::generator
