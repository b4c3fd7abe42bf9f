#pragma once

#include <vector>

namespace understudy::predictor {

/// One row of the design matrix for each measurement.
using DesignMatrix = std::vector<std::vector<double>>;

/// Returns the coefficients, all at least 0, that minimize sum (row . c - target)^2. Improves one
/// after the other until all settle. Zero columns get 0.
[[nodiscard]] std::vector<double> nonnegative_least_squares(const DesignMatrix& rows,
                                                            const std::vector<double>& targets);

}  // namespace understudy::predictor
