#pragma once

#include "et_schema/prediction/prediction.h"
#include "predictor/prediction/interval.h"
#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// Half the 90 % interval of the simulator by itself, of the iteration: what nine of ten recorded
/// steps were within (docs/results/prediction.md).
inline constexpr double kSimulatorSpread = 0.035;

/// The figures of a simulation that kept its spans. Names, world size and where the costs come from
/// are the caller's to fill in. `beside`: half the interval of what is in no estimate, the overlap.
[[nodiscard]] et_schema::Prediction prediction_of(const Job& job, const Simulation& simulation,
                                                  const HalfWidths& beside = {});

/// Beside each rank its recorded step: what the profiles say, and the first iteration.
void add_recorded_steps(const Job& job, const Simulation& simulation,
                        et_schema::Prediction& prediction);

}  // namespace understudy::predictor
