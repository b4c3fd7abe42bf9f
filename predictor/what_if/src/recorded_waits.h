#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/flow.h"
#include "predictor/simulate/recorded_timeline.h"

namespace understudy::predictor {

/// By instruction: its recorded host time, waits for the device left out. `programs` are all of the
/// job's: the same operator on the same shapes waited for least where it was fastest.
[[nodiscard]] std::vector<std::vector<std::int64_t>> host_times_without_waits(
    const std::vector<const Program*>& programs, const std::vector<Flow>& flows);

/// What is known of a communication's own time on one rank.
struct ObservedComm {
  std::int64_t ns = 0;    ///< waiting for other ranks included
  bool is_whole = false;  ///< nothing else ran in the meantime, so it took no longer
};

/// How long the host was seen to wait for a CPU's communications, by instruction; and the gaps and
/// calls that were such a wait, which then are no time of the host's.
struct ObservedComms {
  std::vector<std::optional<ObservedComm>> of_instruction;
  std::vector<bool> gap_is_wait;
  std::vector<bool> call_is_wait;
};
[[nodiscard]] ObservedComms observed_comms(const Program& program, const Flow& flow);

}  // namespace understudy::predictor
