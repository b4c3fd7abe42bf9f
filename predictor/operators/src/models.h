#pragma once

#include "predictor/operators/call_model.h"

namespace understudy::predictor {

/// Returns true for less than 10 GB/s of memory bandwidth per processor (SharedModel::narrow).
[[nodiscard]] bool is_narrow(const Point& point);
/// Returns ln of nanoseconds.
[[nodiscard]] double base_ln(const TwoClock& base, const Point& point);
/// Returns the kernels' loads, which the base is fitted to.
[[nodiscard]] std::vector<BaseSample> base_samples(const Samples& samples);
/// Fit and evaluate the roofline, which uses FLOPs and bytes instead of kernel loads.
[[nodiscard]] double roofline_ln(const TwoClock& roofline, const Point& point);
[[nodiscard]] TwoClock roofline_of(const Samples& samples);
/// Returns the features for trees: with the operator's code, without the card's own features.
[[nodiscard]] Features tree_features(const Point& point, const OperatorCodes& codes);
[[nodiscard]] Trees grow(const Samples& samples, const std::vector<double>& residuals,
                         const OperatorCodes& codes, TreeOptions options);
/// Returns ln t - ln base for each sample.
[[nodiscard]] std::vector<double> residuals_of(const Samples& samples, const CallModel& model);

/// Divides samples into folds of equal size. Samples of equal shape are in one fold.
[[nodiscard]] std::vector<Samples> folds_of(const Samples& samples, std::size_t count);
[[nodiscard]] Samples without(const Samples& samples, const Samples& left_out);
/// Returns the operators, ordered by name.
[[nodiscard]] std::vector<std::string> operators_of(const Samples& samples);

/// Computes codes from the base's residuals, shrunk for operators with few rows.
[[nodiscard]] OperatorCodes codes_of(const Samples& samples, const std::vector<double>& residuals);

/// Fits a model for calls above the samples: trees cannot extrapolate, the residuals' trend can.
[[nodiscard]] CallModel fit_beyond(Candidate candidate, const Samples& samples,
                                   const std::shared_ptr<const SharedModel>& shared,
                                   const TreeOptions& options);

/// Returns the mean residual of the nearest measured sizes, weighted by proximity.
[[nodiscard]] double nearest_residual(const std::vector<Neighbour>& neighbours, const Point& point);
[[nodiscard]] CallModel fit_nearest(const Samples& samples);

}  // namespace understudy::predictor
