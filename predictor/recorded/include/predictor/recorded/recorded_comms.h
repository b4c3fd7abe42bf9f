#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "predictor/collectives/rows.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

/// Communication between GPUs as profiles show it.
struct RecordedComms {
  std::vector<CollectiveRow> rows;                ///< one for each kind, size and group
  std::map<std::string, std::uint64_t> left_out;  ///< calls by reason
};

/// What the job's communication took, from its ranks' profiles: of each call the shortest time of
/// its ranks, which is that of the rank that came last and waited for nobody. A call is a
/// measurement only if the profiles of all its ranks show it; a CPU's times hold waits, and are
/// none. `source` names the file. Throws Error (bad input): as simulate() does.
[[nodiscard]] RecordedComms recorded_comms(const Job& job, const std::string& source);

}  // namespace understudy::predictor
