#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/flow/flow.h"

namespace understudy::predictor {

/// Recorded host time before an instruction that is in no other instruction of its timeline.
struct HostGap {
  std::int64_t host_ns = 0;  ///< waits for the device left out
  std::int64_t wait_ns = 0;  ///< those waits
  /// What was waited for in it, if anything, and which part of host_ns comes before.
  std::optional<et_schema::DeviceWait::For> wait = {};
  double before_share = 0;
};

struct HostGaps {
  std::vector<HostGap> of_instruction;  ///< none where nothing was recorded
  HostGap at_end;                       ///< from the last instruction to the step's end
};

/// docs/metrics.md, "Pace", has the rule: a gap begins where all before on the timeline have ended.
/// A wait for an event that took less than 10 µs met it completed, and is a part of the gap.
[[nodiscard]] HostGaps host_gaps(const et_schema::Program& program, const Timelines& timelines);

}  // namespace understudy::predictor
