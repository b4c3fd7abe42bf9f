#pragma once

#include <string>
#include <vector>

#include "et_schema/formats/prediction/prediction.h"
#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// Returns the name of the span's operator. For device work without an instruction, returns the
/// reason (DeviceWork::why), otherwise "end of the step".
[[nodiscard]] std::string name_of(const Program& program, const Span& span);

/// Half the 90 % interval of what the iteration takes by equal estimates.
struct Contribution {
  double below_ms = 0;
  double above_ms = 0;
  std::string model;
  std::string what;  ///< is assumed: "sustained rate (matmul)"
};

/// Share of the error variance that all operators of one model have in common: the platform's state
/// during calibration, and the model's bias.
inline constexpr double kCommonShare = 0.25;

/// Adds half widths in quadrature to the iteration's interval, and to what it is made of.
void widen(const std::string& what, double below_ms, double above_ms,
           et_schema::Prediction& prediction);

/// Widens the interval by contributions, which within a model share kCommonShare of the variance.
/// See docs/prediction.md, "Interval".
void widen_by_costs(const std::vector<Contribution>& contributions,
                    et_schema::Prediction& prediction);

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
