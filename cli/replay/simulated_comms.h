#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::cli {

/// Throws Error (usage) where communication cannot be simulated as asked.
void check_simulated_comms(const ReplayArguments& arguments, int processes);

/// How long the communications of a rank take.
struct CommTimes {
  std::vector<std::int64_t> ns;  ///< by communication, as in et_schema::CommOrder
  std::size_t guessed =
      0;  ///< recorded ones that no rank was seen to wait for: by the others' rate
};

/// Of one of the benchmark's ranks among all ranks of the job, as `predict` counts them. `source`:
/// "recorded", by the linked profiles, or a platform file, by its models. Throws Error: bad input
/// (ranks that do not fit each other, a damaged file), usage (calls without recorded times, a
/// platform without collectives).
[[nodiscard]] CommTimes comm_times(const et_schema::Bench& bench, int rank,
                                   const std::string& source);

}  // namespace understudy::cli
