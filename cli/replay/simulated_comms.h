#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::cli {

/// Throws Error (usage) if communication cannot be simulated as requested.
void check_simulated_comms(const ReplayArguments& arguments, int processes);

/// Durations of a rank's communications.
struct CommTimes {
  std::vector<std::int64_t> ns;  ///< by communication, in the order of et_schema::CommOrder
  /// Number of communications whose recorded time is unknown because no rank waited for them.
  /// Their times are estimated from the rate of the others.
  std::size_t guessed = 0;
};

/// Returns the times of one rank's communications, as `predict` computes them with all ranks of the
/// job. `source`: "recorded" (the linked profiles), or a platform file (its models). Throws Error
/// (bad input) if ranks do not match or the file is damaged; Error (usage) if calls have no
/// recorded times or the platform has no collectives.
[[nodiscard]] CommTimes comm_times(const et_schema::Bench& bench, int rank,
                                   const std::string& source);

}  // namespace understudy::cli
