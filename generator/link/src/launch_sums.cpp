#include "launch_sums.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "et_schema/model/device_time.h"

namespace understudy::generator {
namespace {

using et_schema::DeviceEvent;
using et_schema::NodeIndex;
using et_schema::Outside;

class Summer {
 public:
  explicit Summer(const LaunchInputs& inputs)
      : in_(inputs),
        spans_(launch_spans(inputs.join, inputs.host)),
        node_of_(nodes_of_events(inputs.join, inputs.nodes, inputs.host)) {
    sums_.launched.resize(in_.host.events.size());
  }

  LaunchSums sum() {
    for (const et_schema::LostLaunch& lost : in_.device.lost) {
      if (const HostIndex owner = owner_of(lost);
          owner != kNoEvent && et_schema::is_lost_work(lost.why)) {
        sums_.launched[owner].is_cut_off = true;
      }
    }
    for (const DeviceEvent& event : in_.device.events) {
      add(event);
    }
    for (auto& [why, row] : outside_) {
      row.device_ns /= static_cast<std::int64_t>(spans_.size());
      et_schema::scale_kernel_times(row.device_ns, row.kernel_classes);
    }
    if (in_.graph) {
      for (const et_schema::KernelClassTime& time : in_.graph->graph_only_ns) {
        add_outside(Outside::kGraphLaunch, time.kernel_class, time.ns);
      }
    }
    for (auto& [why, row] : outside_) {
      sums_.outside.push_back(std::move(row));
    }
    return std::move(sums_);
  }

 private:
  /// Returns the innermost joined event around a launch.
  [[nodiscard]] HostIndex owner_of(const et_schema::DeviceLaunch& launch) const {
    const HostIndex around = joined_around(in_.host.event_of(launch.launcher), node_of_, in_.host);
    const auto batch = in_.issued.find(around);
    return batch == in_.issued.end() ? around : batch->second;
  }

  void add(const DeviceEvent& event) {
    const HostIndex owner = owner_of(event);
    const bool is_in_none =
        owner == kNoEvent || (!in_.is_in_operator[node_of_[owner]] && is_of_graph(event));
    sums_.owners.push_back({is_in_none ? et_schema::kNoNode : node_of_[owner], event_ns(event),
                            event.kernel_class == "communication"});
    if (is_in_none) {
      add_outside(event);
      return;
    }
    Launched& sum = sums_.launched[owner];
    const std::int64_t ns = event_ns(event);
    sum.device_ns = add_times(sum.device_ns, ns);
    et_schema::add_kernel_time(event.kernel_class, ns, sum.kernel_classes);
    ++sum.count;
    if (!sum.stream) {
      sum.stream = in_.device.streams[event.stream].number;
    }
    sum.reads_pinned |= in_.host.sources[event.source].name.starts_with("Memcpy HtoD (Pinned");
  }

  static bool is_of_graph(const DeviceEvent& event) {
    return event.by == et_schema::LaunchedBy::kGraph;
  }

  /// Adds an event of the joined steps that belongs to no node.
  void add_outside(const DeviceEvent& event) {
    const std::int64_t time_ns = in_.host.relative(event.launch_ns);
    if (event.step != et_schema::kUnknownEvent &&
        std::ranges::any_of(spans_, [=](const StepSpan& span) { return span.contains(time_ns); })) {
      add_outside(is_of_graph(event) ? Outside::kGraphLaunch : Outside::kUnlinked,
                  event.kernel_class, event_ns(event));
    }
  }

  void add_outside(Outside why, std::string_view kernel_class, std::int64_t ns) {
    et_schema::OutsideTime& row =
        outside_.try_emplace(why, et_schema::OutsideTime{why, {}}).first->second;
    row.device_ns = add_times(row.device_ns, ns);
    et_schema::add_kernel_time(kernel_class, ns, row.kernel_classes);
  }

  /// Returns the time of a device event. If there is a graphed run, its time is used: 0 if the
  /// event is missing there.
  [[nodiscard]] std::int64_t event_ns(const DeviceEvent& event) const {
    if (in_.graph) {
      const auto found = in_.graph->ns.find(event.source);
      return found == in_.graph->ns.end() ? 0 : found->second;
    }
    return event.ns();
  }

  const LaunchInputs& in_;
  std::vector<StepSpan> spans_;                        ///< of the joined steps
  std::vector<NodeIndex> node_of_;                     ///< by host event
  std::map<Outside, et_schema::OutsideTime> outside_;  ///< over the joined steps
  LaunchSums sums_;
};

}  // namespace

void add_up_launches(const et_schema::Trace& trace, std::vector<std::optional<NodeTimes>>& nodes) {
  std::vector<Launched> below(trace.nodes.size());
  for (auto i = static_cast<NodeIndex>(trace.nodes.size()); i-- > 1;) {
    Launched& sum = below[i];
    if (std::optional<NodeTimes>& times = nodes[i]) {
      // Kernel classes were summed over all samples; they are scaled to the median.
      et_schema::scale_kernel_times(times->device_ns, times->kernel_classes);
      et_schema::add_kernel_times(times->kernel_classes, sum.kernel_classes);
      times->kernel_classes = sum.kernel_classes;
      times->device_ns = sum.device_ns = add_times(sum.device_ns, times->device_ns);
      times->launches = sum.count += times->launches;
      times->stream = sum.stream = times->stream ? times->stream : sum.stream;
      times->reads_pinned = sum.reads_pinned |= times->reads_pinned;
    }
    Launched& above = below[trace.nodes[i].parent];
    above.device_ns = add_times(above.device_ns, sum.device_ns);
    et_schema::add_kernel_times(sum.kernel_classes, above.kernel_classes);
    above.count += sum.count;
    above.stream = sum.stream ? sum.stream : above.stream;
    above.reads_pinned |= sum.reads_pinned;
  }
}

LaunchSums sum_launches(const LaunchInputs& inputs) {
  return Summer(inputs).sum();
}

}  // namespace understudy::generator
