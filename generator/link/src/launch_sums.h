#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "generator/link/link.h"
#include "graph_times.h"
#include "join.h"

namespace understudy::generator {

/// Sum of the device work launched by a host event, or by a node and all nodes below it.
struct Launched {
  std::int64_t device_ns = 0;
  std::uint64_t count = 0;
  std::optional<std::int64_t> stream = {};
  et_schema::KernelClassTimes kernel_classes = {};
  bool reads_pinned = false;  ///< copies from page-locked memory of the host
  bool is_cut_off = false;    ///< the profile lacks part of the work
};

/// Adds the work that each node launched itself to the nodes around it that have times.
void add_up_launches(const et_schema::Trace& trace, std::vector<std::optional<NodeTimes>>& nodes);

/// The node that launched a device event, and the event's time.
struct EventOwner {
  et_schema::NodeIndex node = et_schema::kNoNode;
  std::int64_t ns = 0;
  bool communicates = false;  ///< by the kernel's name
};

struct LaunchSums {
  std::vector<EventOwner> owners;  ///< by device event
  /// By host event: work launched by it and by unjoined events below it.
  std::vector<Launched> launched;
  std::vector<et_schema::OutsideTime> outside;  ///< work without a node, for one step
};

struct LaunchInputs {
  const HostEvents& host;
  const JoinNodes& nodes;
  const Join& join;
  const et_schema::DeviceTimeline& device;
  const std::optional<GraphTimes>& graph;   ///< if set, its times replace the profile's
  const std::vector<bool>& is_in_operator;  ///< by node: an operator or below one
  /// By the event that issued a batch of communication: the event of the batch's last call, whose
  /// work it launched.
  const std::unordered_map<HostIndex, HostIndex>& issued;
};

/// Returns the kernels of all joined steps that the range profiler measured, with counters of one
/// step; empty if their launches are not known.
[[nodiscard]] std::vector<LaunchedKernel> ranged_kernels(const et_schema::Profile& profile,
                                                         const LaunchInputs& inputs);

/// Assigns each device event to the innermost joined event around its launch. An event without one
/// is counted by the reason.
[[nodiscard]] LaunchSums sum_launches(const LaunchInputs& inputs);

}  // namespace understudy::generator
