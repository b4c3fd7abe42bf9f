#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {

/// Recorded host time between the end of all previous instructions of a timeline and the start of
/// the next one.
struct HostGap {
  std::int64_t host_ns = 0;  ///< without waits for the device
  std::int64_t wait_ns = 0;  ///< waits for the device
  /// The wait in the gap, if any, and the share of host_ns before it. If there are several, the
  /// strongest is kept (device, then stream, then event), on ties the last.
  std::optional<et_schema::DeviceWait> wait = {};
  double before_share = 0;
};

struct HostGaps {
  std::vector<HostGap> of_instruction;  ///< empty if nothing was recorded
  HostGap at_end;                       ///< from the last instruction to the end of the step
};

/// Returns the gaps of a program (rule: docs/metrics.md, "Pace"). A gap begins when all previous
/// instructions of the timeline have ended.
/// What a wait's call itself takes is host time.
[[nodiscard]] HostGaps host_gaps(const Program& program, const Flow& flow);

}  // namespace understudy::predictor
