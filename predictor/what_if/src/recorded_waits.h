#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "predictor/simulate/recorded_step.h"

namespace understudy::predictor {

/// A communication's observed time on one rank.
struct ObservedComm {
  std::int64_t ns = 0;    ///< includes waits for other ranks
  bool is_whole = false;  ///< true: nothing else ran meanwhile, so it did not take longer
};

/// Observed host waits for CPU communication, by instruction, and the gaps and calls that were such
/// waits and are therefore no host time.
struct ObservedComms {
  std::vector<std::optional<ObservedComm>> of_instruction;
  std::vector<bool> gap_is_wait;
  std::vector<bool> call_is_wait;
};
[[nodiscard]] ObservedComms observed_comms(const Program& program, const Flow& flow,
                                           const RecordedStep& step);

}  // namespace understudy::predictor
