#pragma once

#include <cstddef>
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
  const HostEvents& host;  ///< with the profile's times, the observer's cost included
  const et_schema::DeviceTimeline& device;
  const std::vector<EventOwner>& owners;  ///< by device event
  const Layout& layout;
};

/// How long the steps took, and all that the device did in one of them: that of median length among
/// those that lost no work. Times of the host are those of the typical step.
struct ShownStep {
  std::int64_t length_ns = 0;  ///< median over the steps; 0: the profile shows no device
  bool host_runs_ahead = false;
  std::vector<LaunchedWork> work;            ///< in order of launches
  std::vector<et_schema::DeviceWait> waits;  ///< in order of start
};

/// Finds which work each wait waited for: of the work that was launched before it, on the stream or
/// streams in question, the piece that ended when the wait did. n log n in the events.
[[nodiscard]] ShownStep shown_step(const ShownStepInputs& inputs);

}  // namespace understudy::generator
