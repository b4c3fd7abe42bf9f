#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "generator/link/link.h"
#include "graph_times.h"
#include "join.h"

namespace understudy::generator {

/// What a host event, or a node with all below it, launched.
struct Launched {
  std::int64_t device_ns = 0;
  std::uint64_t count = 0;
  std::optional<std::int64_t> stream = {};
  et_schema::KernelClassTimes kernel_classes = {};
  bool reads_pinned = false;  ///< copies from page-locked memory of the host
  bool is_cut_off = false;    ///< part of what it launched is not in the profile
};

/// Adds what each node launched itself to the nodes around it that have times.
void add_up_launches(const et_schema::Trace& trace, std::vector<std::optional<NodeTimes>>& nodes);

/// The node that launched work of a device, and the work's time.
struct EventOwner {
  et_schema::NodeIndex node = et_schema::kNoNode;
  std::int64_t ns = 0;
};

struct LaunchSums {
  std::vector<EventOwner> owners;               ///< by device event
  std::vector<Launched> launched;               ///< by host event: what has no joined one between
  std::vector<et_schema::OutsideTime> outside;  ///< what no node has, for one step
};

struct LaunchInputs {
  const HostEvents& host;
  const JoinNodes& nodes;
  const Join& join;
  const et_schema::DeviceTimeline& device;
  const std::optional<GraphTimes>& graph;   ///< the graphed run's times count, where there is one
  const std::vector<bool>& is_in_operator;  ///< by node: it is an operator or lies below one
};

/// Assigns each device event to the innermost joined event around its launch; one without such an
/// event counts under the reason for that.
[[nodiscard]] LaunchSums sum_launches(const LaunchInputs& inputs);

}  // namespace understudy::generator
