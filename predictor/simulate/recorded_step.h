#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {

/// A moment at which the original's host launched work of a device, or began to wait for some.
struct HostMoment {
  double share = 0;                        ///< of the part's host time that lies before it
  std::optional<std::uint32_t> work = {};  ///< position in Program::device_work
  std::optional<std::uint32_t> wait = {};  ///< position in RecordedProfile::device_waits
};

/// A stretch of the original's host: an instruction's call, or what lay before it.
struct HostPart {
  std::int64_t host_ns = 0;  ///< waits for the device left out
  std::vector<HostMoment> moments;
};

/// The original's host by timeline: each nanosecond of the step is in one part, each launch and
/// wait that the profile shows at its moment.
struct RecordedStep {
  std::vector<HostPart> gaps;  ///< by instruction: since the end of what was before on its timeline
  std::vector<HostPart> calls;  ///< by instruction
  HostPart end;                 ///< of the step's own timeline, behind its last instruction
};

/// Nothing where the profile shows no work of a device, or none is linked.
[[nodiscard]] std::optional<RecordedStep> recorded_step(const Program& program, const Flow& flow);

}  // namespace understudy::predictor
