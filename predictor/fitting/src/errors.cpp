#include "predictor/fitting/errors.h"

#include <algorithm>
#include <cmath>

namespace understudy::predictor {

Errors errors_of(const std::vector<double>& residuals) {
  // Keeps the logarithm of an exact prediction finite, as in the measure's source.
  constexpr double kLeast = 4e-4;
  Errors errors;
  errors.n = residuals.size();
  if (residuals.empty()) {
    return errors;
  }
  double logarithms = 0;
  for (const double residual : residuals) {
    const double error = std::exp(-residual) - 1;
    logarithms += std::log(std::abs(error) + kLeast);
    errors.mean += std::abs(error);
    errors.bias += error;
    errors.worst = std::max(errors.worst, std::abs(error));
  }
  const auto n = static_cast<double>(residuals.size());
  errors.geometric = std::exp(logarithms / n);
  errors.mean /= n;
  errors.bias /= n;
  return errors;
}

double conformal_width(std::vector<double> residuals, double beyond) {
  constexpr double kShare = 0.9;
  if (residuals.empty()) {
    return 0;
  }
  for (double& residual : residuals) {
    residual = std::abs(residual);
  }
  std::ranges::sort(residuals);
  const double rank = std::ceil(kShare * static_cast<double>(residuals.size() + 1));
  if (rank > static_cast<double>(residuals.size())) {
    return residuals.back() * beyond;
  }
  return residuals[static_cast<std::size_t>(rank) - 1];
}

}  // namespace understudy::predictor
