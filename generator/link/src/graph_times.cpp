#include "graph_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/op_class.h"
#include "generator/link/align.h"
#include "generator/link/names.h"
#include "generator/link/profiled_steps.h"
#include "statistics.h"

namespace understudy::generator {
namespace {

using et_schema::DeviceEvent;
using et_schema::DeviceTimeline;
using et_schema::Profile;

/// With a smaller common share, the graphs belong to another program.
constexpr double kLeastInCommon = 0.75;

/// The device events of a step, in the order in which they ran.
struct DeviceStep {
  std::vector<std::int64_t> ns;
  std::vector<std::uint32_t> sources;  ///< positions in Profile::events
  std::vector<NameId> names;
};

/// Returns all device events in the order in which they ran.
std::vector<DeviceEvent> in_order(const DeviceTimeline& device) {
  std::vector<DeviceEvent> events = device.events;
  std::ranges::stable_sort(events, {}, &DeviceEvent::start_ns);
  return events;
}

/// Returns the events that the host launched within a range of the profile's own times. Times
/// relative to host events cannot be used: a profile of graphs may show no operators.
DeviceStep step_of(const Profile& profile, std::span<const DeviceEvent> events,
                   std::int64_t begin_ns, std::int64_t end_ns, NameTable& names) {
  DeviceStep step;
  for (const DeviceEvent& event : events) {
    if (event.launch_ns >= begin_ns && event.launch_ns < end_ns) {
      step.ns.push_back(event.ns());
      step.sources.push_back(event.source);
      step.names.push_back(names.number(profile.events[event.source].name));
    }
  }
  return step;
}

/// Returns the times at which the sequence of launched graphs begins. The sequence is the shortest
/// one that repeats to the end; launches are identified by their number of device events. If none
/// repeats, returns only the first launch.
std::vector<std::int64_t> graph_begins(std::span<const DeviceEvent> events) {
  std::map<std::pair<std::int64_t, std::uint32_t>, std::size_t> counts;  // in order of time
  for (const DeviceEvent& event : events) {
    if (event.by == et_schema::LaunchedBy::kGraph) {
      ++counts[{event.launch_ns, event.call}];
    }
  }
  std::vector<std::int64_t> times;
  std::vector<std::size_t> sizes;
  for (const auto& [launch, count] : counts) {
    times.push_back(launch.first);
    sizes.push_back(count);
  }
  std::size_t period = 1;
  while (period < sizes.size() && !std::equal(sizes.begin() + static_cast<std::ptrdiff_t>(period),
                                              sizes.end(), sizes.begin())) {
    ++period;
  }
  std::vector<std::int64_t> begins;
  for (std::size_t i = 0; i + period <= times.size(); i += period) {
    begins.push_back(times[i]);
  }
  return begins;
}

std::vector<DeviceStep> graphed_steps(const Profile& profile, NameTable& names) {
  const DeviceTimeline device = et_schema::device_timeline(profile);
  const std::vector<DeviceEvent> events = in_order(device);
  std::vector<std::int64_t> begins;
  for (const et_schema::DeviceStep& step : device.steps) {
    begins.push_back(step.mark.start_ns);
  }
  if (begins.size() == 1) {
    begins = graph_begins(events);
    // Work launched before the first graph belongs to the first step.
    (begins.empty() ? begins.emplace_back() : begins.front()) =
        std::numeric_limits<std::int64_t>::min();
  }
  std::vector<DeviceStep> steps;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t end_ns =
        i + 1 < begins.size() ? begins[i + 1] : std::numeric_limits<std::int64_t>::max();
    DeviceStep step = step_of(profile, events, begins[i], end_ns, names);
    if (!step.sources.empty()) {
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

using Places = std::map<NameId, std::vector<std::uint32_t>>;

Places places_of(const DeviceStep& step) {
  Places places;
  for (std::uint32_t i = 0; i < step.names.size(); ++i) {
    places[step.names[i]].push_back(i);
  }
  return places;
}

/// Returns for each event of `a` the index of its equal in `b`, or kUnaligned.
std::vector<std::uint32_t> pairs_of(const DeviceStep& a, const DeviceStep& b) {
  std::vector<std::uint32_t> pairs(a.names.size(), kUnaligned);
  const Places places_a = places_of(a);
  const Places places_b = places_of(b);
  std::vector<std::uint32_t> aligned;
  for (const auto& [name, in_a] : places_a) {
    const auto found = places_b.find(name);
    if (found == places_b.end()) {
      continue;
    }
    const bool is_equal = found->second.size() == in_a.size();
    if (!is_equal && aligned.empty()) {
      aligned = align(a.names, b.names);
    }
    for (std::size_t k = 0; k < in_a.size(); ++k) {
      pairs[in_a[k]] = is_equal ? found->second[k] : aligned[in_a[k]];
    }
  }
  return pairs;
}

/// Returns the time of each event of the most usual step: the median over all steps with as many
/// events of each name.
std::vector<std::int64_t> median_times(const std::vector<DeviceStep>& steps,
                                       const DeviceStep& usual) {
  std::vector<std::vector<std::int64_t>> samples(usual.names.size());
  for (const DeviceStep& step : steps) {
    const std::vector<std::uint32_t> pairs = pairs_of(usual, step);
    const bool is_alike = step.names.size() == usual.names.size() &&
                          std::ranges::find(pairs, kUnaligned) == pairs.end();
    for (std::size_t i = 0; is_alike && i < pairs.size(); ++i) {
      samples[i].push_back(step.ns[pairs[i]]);
    }
  }
  std::vector<std::int64_t> times;
  for (std::vector<std::int64_t>& of_event : samples) {
    times.push_back(median(of_event));
  }
  return times;
}

const DeviceStep& usual_step(const std::vector<DeviceStep>& steps) {
  std::map<std::size_t, std::size_t> sizes;
  for (const DeviceStep& step : steps) {
    ++sizes[step.names.size()];
  }
  const std::size_t usual =
      std::ranges::max_element(sizes, {}, [](const auto& row) { return row.second; })->first;
  return *std::ranges::find(steps, usual, [](const DeviceStep& step) { return step.names.size(); });
}

}  // namespace

GraphTimes graph_times(const Profile& eager, const HostEvents& host, const DeviceTimeline& device,
                       const Join& join, const Profile& graph_run) {
  NameTable names;
  const std::vector<DeviceStep> graphed = graphed_steps(graph_run, names);
  const DeviceStep none;
  const DeviceStep& usual = graphed.empty() ? none : usual_step(graphed);
  const std::vector<std::int64_t> times = median_times(graphed, usual);
  const std::vector<DeviceEvent> events = in_order(device);
  const std::vector<StepSpan> spans = launch_spans(join, host);
  GraphTimes result;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const DeviceStep step = step_of(eager, events, add_times(spans[i].begin_ns, host.first_ns),
                                    add_times(spans[i].end_ns, host.first_ns), names);
    const std::vector<std::uint32_t> pairs = pairs_of(step, usual);
    std::vector<bool> is_joined(usual.names.size());
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      if (pairs[k] != kUnaligned) {
        result.ns[step.sources[k]] = times[pairs[k]];
        is_joined[pairs[k]] = true;
      }
    }
    if (i > 0) {
      continue;  // the first step decides which events only one of the profiles has
    }
    const auto joined = static_cast<std::uint64_t>(std::ranges::count(is_joined, true));
    const std::size_t of_both = step.names.size() + usual.names.size();
    if (2 * static_cast<double>(joined) < kLeastInCommon * static_cast<double>(of_both) ||
        joined == 0) {
      throw et_schema::bad_input(
          "a graphed run of another step",
          {.file = graph_run.file,
           .expected = fmt::format("the {} device events of the step in {}, by names in order",
                                   step.names.size(), eager.file),
           .got = fmt::format("{} of them among {}", joined, usual.names.size()),
           .hint = "give the profile of the same step, launched as CUDA or HIP graphs"});
    }
    result.eager_only = step.names.size() - joined;
    result.graph_only = usual.names.size() - joined;
    for (std::size_t k = 0; k < is_joined.size(); ++k) {
      if (!is_joined[k]) {
        const et_schema::KinetoEvent& event = graph_run.events[usual.sources[k]];
        et_schema::add_kernel_time(et_schema::kernel_class(event.name), times[k],
                                   result.graph_only_ns);
      }
    }
  }
  return result;
}

}  // namespace understudy::generator
