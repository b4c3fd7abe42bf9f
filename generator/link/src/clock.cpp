#include "generator/link/clock.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "et_schema/model/program.h"

namespace understudy::generator {
namespace {

/// With fewer samples, no cost is estimated.
constexpr std::size_t kLeastSamples = 32;
/// Share of the samples that counts as the cheapest that recording allows. Their mean is used,
/// since older profiles have whole microseconds.
constexpr double kCheapest = 0.2;
/// Upper bounds of EventCost's before_ns, inside_ns and after_ns, in ns. They limit the estimate
/// because in a slow program even the cheapest events include the program's own time.
constexpr double kMostBeforeNs = 3000;
constexpr double kMostInsideNs = 6000;
constexpr double kMostAfterNs = 4000;

double cheapest(std::vector<std::int64_t>& samples_ns, double most_ns) {
  if (samples_ns.size() < kLeastSamples) {
    return 0;
  }
  const double count = std::floor(kCheapest * static_cast<double>(samples_ns.size()));
  const auto end = samples_ns.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::nth_element(samples_ns, end);
  const auto sum = static_cast<double>(std::accumulate(samples_ns.begin(), end, std::int64_t{0}));
  return std::clamp(sum / count, 0.0, most_ns);
}

}  // namespace

EventCost find_event_cost(const HostEvents& host, bool with_trace,
                          std::optional<double> known_total_ns) {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> inside;
  std::vector<std::int64_t> after;
  std::vector<HostIndex> last_child(host.events.size(), kNoEvent);
  for (std::size_t i = 0; i < host.events.size(); ++i) {
    const HostEvent& event = host.events[i];
    if (event.parent == kNoEvent) {
      continue;
    }
    if (last_child[event.parent] == kNoEvent) {
      before.push_back(event.start_ns - host.events[event.parent].start_ns);
    }
    last_child[event.parent] = static_cast<HostIndex>(i);
  }
  for (std::size_t i = 0; i < host.events.size(); ++i) {
    const HostEvent& event = host.events[i];
    if (last_child[i] == kNoEvent) {
      inside.push_back(event.end_ns - event.start_ns);
    } else {
      after.push_back(event.end_ns - host.events[last_child[i]].end_ns);
    }
  }
  EventCost cost{cheapest(before, kMostBeforeNs), cheapest(inside, kMostInsideNs),
                 cheapest(after, kMostAfterNs), "the cheapest events of the profile"};
  cost.inside_ns = with_trace ? cost.inside_ns : 0;
  if (known_total_ns) {
    const double total = cost.total_ns();
    cost.source = et_schema::kObserverMeasured;
    if (total > 0) {
      const double scale = *known_total_ns / total;
      cost.before_ns *= scale;
      cost.inside_ns *= scale;
      cost.after_ns *= scale;
    } else {
      cost.before_ns = *known_total_ns;
    }
  }
  return cost;
}

void take_out(const EventCost& cost, const LaunchCost& launches, HostEvents& host) {
  if (cost.total_ns() <= 0 && launches.each_ns <= 0) {
    return;
  }
  auto launch = launches.times_ns.begin();
  std::int64_t last_ns = 0;
  double removed_ns = 0;
  double pending_ns = 0;  // cost after the previous boundary
  bool is_first = true;
  for (const Boundary& boundary : host.boundaries()) {
    double falls_here = pending_ns + (boundary.is_end ? cost.inside_ns / 2 : cost.before_ns);
    for (; launch != launches.times_ns.end() && *launch < boundary.time_ns; ++launch) {
      falls_here += is_first ? 0 : launches.each_ns;
    }
    const auto stretch_ns = static_cast<double>(boundary.time_ns - last_ns);
    removed_ns += is_first ? 0 : std::min(falls_here, stretch_ns);
    is_first = false;
    last_ns = boundary.time_ns;
    HostEvent& event = host.events[boundary.event];
    std::int64_t& time_ns = boundary.is_end ? event.end_ns : event.start_ns;
    time_ns -= std::llround(removed_ns);
    pending_ns = boundary.is_end ? cost.after_ns : cost.inside_ns / 2;
  }
}

}  // namespace understudy::generator
