#pragma once

#include <string>

#include "et_schema/prediction/prediction.h"
#include "predictor/simulate/interval.h"
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

/// Where nobody measured what recording an event cost, as much again as the profile's cheapest
/// events told may still be in recorded times of the host: the interval reaches down as far as its
/// part of the critical path goes, and an assumption says so.
void widen_by_observer(const Job& job, et_schema::Prediction& prediction);

/// Where a rank's recorded step is played longer or shorter than it was, by more than the
/// simulator's own spread, the interval reaches as far as that error would take it, and an
/// assumption says so. `played`: with their recorded steps.
void widen_by_recorded_steps(const std::vector<et_schema::PredictedRank>& played,
                             et_schema::Prediction& prediction);

/// The last two iterations as a trace that Perfetto and chrome://tracing open, in Kineto's form: a
/// process a rank, a thread for each host thread and each stream. Ranks that were played as one are
/// shown once.
[[nodiscard]] std::string chrome_trace(const Job& job, const Simulation& simulation);

}  // namespace understudy::predictor
