#pragma once

#include <string>
#include <vector>

#include "et_schema/formats/prediction/prediction.h"
#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// Returns the name of the span's operator. For device work without an instruction, returns the
/// reason (DeviceWork::why), otherwise "end of the step".
[[nodiscard]] std::string name_of(const Program& program, const Span& span);

/// The part of an iteration's time that depends on one estimate.
struct Contribution {
  double ns = 0;
  double below_ns = 0;  ///< half the 90 % interval, downwards and upwards
  double above_ns = 0;
  std::string model;
};

/// Share of the error variance that all operators of one model have in common: the platform's state
/// during calibration, and the model's bias.
inline constexpr double kCommonShare = 0.25;

/// Half of a 90 % interval of a sum, below and above it. Contributions add in quadrature; within a
/// model they share kCommonShare of the variance. See docs/prediction.md, "Interval". `relative` is
/// the simulator's own half-interval.
struct HalfWidths {
  double below_ns = 0;
  double above_ns = 0;
};
[[nodiscard]] HalfWidths half_widths(const std::vector<Contribution>& contributions, double sum_ns,
                                     double relative);

/// Returns the contributions to the critical path. Calls with equal estimates are one contribution,
/// because their errors are equal.
[[nodiscard]] std::vector<Contribution> contributions_of(const Simulation& simulation);

/// Half the 90 % interval of the simulator alone, relative to the iteration: nine of ten recorded
/// steps were within it (docs/results/prediction.md).
inline constexpr double kSimulatorSpread = 0.035;

/// Returns the prediction's figures. `simulation` must have been run with SimulateOptions::spans.
/// The caller sets names, world size and the source of costs.
[[nodiscard]] et_schema::Prediction prediction_of(const Job& job, const Simulation& simulation);

/// Recorded device time that no operator holds: of labels, compiled kernels, graphs and others.
struct UnheldTime {
  std::string name;        ///< "matmul (graph launch)"
  double recorded_ms = 0;  ///< as the simulated step has it
  bool modelled = true;    ///< false: nothing tells its time here, and the recorded one stands in
};
/// Returns it for a program, longest first. `costs` and `outside`: its parts of Simulation.
[[nodiscard]] std::vector<UnheldTime> unheld_times(const Program& program,
                                                   const std::vector<PlayedCost>& costs,
                                                   const std::vector<Estimate>& outside);

/// Adds the recorded step to each rank: the profile's times, and the first simulated iteration.
void add_recorded_steps(const Job& job, const Simulation& simulation,
                        et_schema::Prediction& prediction);

/// Widens the interval downwards if the cost of recording an event was not measured. Recorded host
/// times on the critical path can still contain as much of it as was subtracted. Adds an
/// assumption.
void widen_by_observer(const Job& job, et_schema::Prediction& prediction);

/// Widens the interval by the error of the median of unprofiled steps, and if the simulated time of
/// a rank's step differs by more than kSimulatorSpread from the recorded or unprofiled one: then
/// adds an assumption, too. `played` must have recorded steps.
void widen_by_recorded_steps(const Job& job, const std::vector<et_schema::PredictedRank>& played,
                             et_schema::Prediction& prediction);

/// Returns the last two iterations as a trace for Perfetto and chrome://tracing, in Kineto's form:
/// a process for each rank, a thread for each host thread and stream. Merged ranks appear once.
[[nodiscard]] std::string chrome_trace(const Job& job, const Simulation& simulation);

}  // namespace understudy::predictor
