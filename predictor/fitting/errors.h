#pragma once

#include <cstddef>
#include <vector>

namespace understudy::predictor {

/// Errors of predictions for measurements that were not used to fit them. e = predicted / measured
/// - 1, as shares: 0.05 is 5 %.
struct Errors {
  std::size_t n = 0;
  double mean = 0;       ///< mean |e|
  double geometric = 0;  ///< exp(mean ln(|e| + 0.0004)), as in Lin et al., arXiv 2404.12674
  double worst = 0;      ///< the largest |e|
  double bias = 0;       ///< mean e; positive: predictions are too long
  bool operator==(const Errors&) const = default;
};

/// Returns the errors of `residuals`, ln measured - ln predicted. All 0 if there are none.
[[nodiscard]] Errors errors_of(const std::vector<double>& residuals);

/// Returns the half-width that contains 90 % of similar residuals, by split-conformal prediction:
/// the ceil(0.9 (n + 1))-th smallest of n |residuals|. If there are fewer, returns the largest
/// times `beyond`; 0 without residuals.
[[nodiscard]] double conformal_width(std::vector<double> residuals, double beyond = 1);

}  // namespace understudy::predictor
