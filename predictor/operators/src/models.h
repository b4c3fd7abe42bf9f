#pragma once

#include "predictor/operators/call_model.h"

namespace understudy::predictor {

/// Whether its card has less than 10 GB/s of memory bandwidth a processor (SharedModel::narrow).
[[nodiscard]] bool is_narrow(const Point& point);
/// ln of nanoseconds.
[[nodiscard]] double base_ln(const TwoClock& base, const Point& point);
/// What the base is fitted to: what kernels do.
[[nodiscard]] std::vector<BaseSample> base_samples(const Samples& samples);
/// The same for the roofline, which is fitted to FLOPs and bytes alone.
[[nodiscard]] double roofline_ln(const TwoClock& roofline, const Point& point);
[[nodiscard]] TwoClock roofline_of(const Samples& samples);
/// Features as trees see them: the operator's code filled in, the card's own left out.
[[nodiscard]] Features tree_features(const Point& point, const OperatorCodes& codes);
[[nodiscard]] Trees grow(const Samples& samples, const std::vector<double>& residuals,
                         const OperatorCodes& codes, TreeOptions options);
/// ln t - ln base.
[[nodiscard]] std::vector<double> residuals_of(const Samples& samples, const CallModel& model);

/// Samples of equal shapes are in one fold; folds are of equal size.
[[nodiscard]] std::vector<Samples> folds_of(const Samples& samples, std::size_t count);
[[nodiscard]] Samples without(const Samples& samples, const Samples& left_out);
/// In order of names.
[[nodiscard]] std::vector<std::string> operators_of(const Samples& samples);

/// Codes made of the base's residuals; few rows of an operator count less.
[[nodiscard]] OperatorCodes codes_of(const Samples& samples, const std::vector<double>& residuals);

/// As fit_model(), for calls above the samples: trees cannot go on, the trend of residuals does.
[[nodiscard]] CallModel fit_beyond(Candidate candidate, const Samples& samples,
                                   const std::shared_ptr<const SharedModel>& shared,
                                   const TreeOptions& options);

/// The nearest measured sizes' residual, weighed by nearness.
[[nodiscard]] double nearest_residual(const std::vector<Neighbour>& neighbours, const Point& point);
[[nodiscard]] CallModel fit_nearest(const Samples& samples);

}  // namespace understudy::predictor
