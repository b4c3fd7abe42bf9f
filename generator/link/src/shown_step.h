#pragma once

#include <vector>

#include "et_schema/model/program.h"
#include "generator/link/host.h"
#include "generator/link/link.h"
#include "join.h"
#include "launch_sums.h"
#include "layout.h"

namespace understudy::generator {

struct ShownStepInputs {
  const et_schema::Trace& trace;
  const JoinNodes& nodes;
  const Join& join;
  const HostEvents& host;  ///< with the profile's times, including the observer's cost
  const et_schema::DeviceTimeline& device;
  const std::vector<EventOwner>& owners;  ///< by device event
  const Layout& layout;
};

/// The length of the steps, and all device work of one of them: the one of median length among
/// those that lost no work. Host times are those of the typical step.
struct ShownStep {
  std::int64_t length_ns = 0;  ///< median over the steps; 0 if the profile has no device events
  bool host_runs_ahead = false;
  std::vector<LaunchedWork> work;            ///< in order of launches
  std::vector<LaunchedKernel> kernels;       ///< of `work`
  std::vector<et_schema::DeviceWait> waits;  ///< in order of start
};

/// Finds the device work that each wait waited for: the last to end by the end of the wait, among
/// the work launched before the wait on the stream or streams that it waits for. The time is n log
/// n in the events.
[[nodiscard]] ShownStep shown_step(const ShownStepInputs& inputs);

}  // namespace understudy::generator
