#pragma once

#include <string>
#include <vector>

#include "et_schema/formats/prediction/prediction.h"
#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// Of the span's operator or, if no instruction launched it, why; "end of the step".
[[nodiscard]] std::string name_of(const Program& program, const Span& span);

/// What of an iteration's length rests on one estimate.
struct Contribution {
  double ns = 0;
  double below_ns = 0;  ///< by how much it may be shorter, and longer, 9 times of 10
  double above_ns = 0;
  std::string model;
};

/// So much of the errors' variance is common to all operators of a model: what the platform did
/// while it was measured, and what the model gets wrong throughout.
inline constexpr double kCommonShare = 0.25;

/// Half a 90 % interval below and above a sum of contributions: in quadrature, a share of the
/// variance in common within a model. docs/prediction.md, "Interval". `relative`: half the interval
/// of the simulator itself.
struct HalfWidths {
  double below_ns = 0;
  double above_ns = 0;
};
[[nodiscard]] HalfWidths half_widths(const std::vector<Contribution>& contributions, double sum_ns,
                                     double relative);

/// The critical path's contributions: calls with equal estimates are one, as they are wrong
/// together.
[[nodiscard]] std::vector<Contribution> contributions_of(const Simulation& simulation);

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
