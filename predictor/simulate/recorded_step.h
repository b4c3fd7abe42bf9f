#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {

/// A moment at which the original's host launched device work, or began to wait for it.
struct HostMoment {
  double share = 0;                        ///< share of the part's host time before the moment
  std::optional<std::uint32_t> work = {};  ///< index in Program::device_work
  std::optional<std::uint32_t> wait = {};  ///< index in RecordedProfile::device_waits
  std::int64_t stall_ns = 0;               ///< part of the wait during which the device was idle
};

/// A stretch of the original's host time: an instruction's call, or the gap before it.
struct HostPart {
  std::int64_t host_ns = 0;  ///< without waits for the device
  std::vector<HostMoment> moments;
};

/// The original's host time by timeline. Each nanosecond of the step is in one part; each recorded
/// launch and wait is at its moment.
struct RecordedStep {
  std::vector<HostPart> gaps;  ///< by instruction: from the end of the previous one on its timeline
  std::vector<HostPart> calls;  ///< by instruction
  HostPart end;                 ///< on the step's own timeline, after its last instruction
};

/// All parts are empty if no profile is linked. Calls are without their waits only if the profile
/// shows device work.
[[nodiscard]] RecordedStep recorded_step(const Program& program, const Flow& flow);

}  // namespace understudy::predictor
