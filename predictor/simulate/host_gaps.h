#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {

/// Recorded host time before an instruction that is in no other instruction of its timeline.
struct HostGap {
  std::int64_t host_ns = 0;  ///< waits for the device left out
  std::int64_t wait_ns = 0;  ///< those waits
  /// The wait in it, if any, and which part of host_ns comes before. Of several the one for most:
  /// the device before a stream before an event, else the last.
  std::optional<et_schema::DeviceWait> wait = {};
  double before_share = 0;
};

struct HostGaps {
  std::vector<HostGap> of_instruction;  ///< none where nothing was recorded
  HostGap at_end;                       ///< from the last instruction to the step's end
};

/// A wait for an event that took less met it completed: its time is the call's own.
inline constexpr std::int64_t kCompletedEventNs = 10'000;
[[nodiscard]] inline bool met_it_completed(const et_schema::DeviceWait& wait) {
  return wait.waits_for == et_schema::DeviceWait::For::kEvent && wait.host_ns < kCompletedEventNs;
}

/// docs/metrics.md, "Pace", has the rule: a gap begins where all before on the timeline have ended.
/// The time of a wait that met its event completed is a part of the gap; the wait is there all the
/// same, since a faster host would come to it earlier. What a compiled graph's instruction holds of
/// the time between the operators behind which it stands is not in their gaps.
[[nodiscard]] HostGaps host_gaps(const Program& program, const Flow& flow);

}  // namespace understudy::predictor
