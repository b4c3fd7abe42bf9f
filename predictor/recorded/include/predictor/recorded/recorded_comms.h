#pragma once

#include <string>

#include "predictor/collectives/read_rows.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

/// What the job's communication between GPUs took, from its ranks' profiles; a row for each kind,
/// size and group. Of each call the shortest time of its ranks, which is that of the rank that came
/// last and waited for nobody. A call is a measurement only if the profiles of all its ranks show
/// it; a CPU's times hold waits, and are none. `source` names the file. Throws Error (bad input):
/// as simulate() does.
[[nodiscard]] ReadCollectives recorded_comms(const Job& job, const std::string& source);

}  // namespace understudy::predictor
