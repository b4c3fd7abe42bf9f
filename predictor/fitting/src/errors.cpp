#include "predictor/fitting/errors.h"

#include <algorithm>
#include <cmath>

#include "et_schema/base/assert.h"

namespace understudy::predictor {
namespace {

/// `share_of(i)` is predicted / measured - 1.
template <typename ShareOf>
Errors errors_over(std::size_t count, ShareOf&& share_of) {
  // Keeps the logarithm of an exact prediction finite, as in the measure's source.
  constexpr double kLeast = 4e-4;
  Errors errors;
  errors.n = count;
  if (count == 0) {
    return errors;
  }
  double logarithms = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double error = share_of(i);
    logarithms += std::log(std::abs(error) + kLeast);
    errors.mean += std::abs(error);
    errors.bias += error;
    errors.worst = std::max(errors.worst, std::abs(error));
  }
  const auto n = static_cast<double>(count);
  errors.geometric = std::exp(logarithms / n);
  errors.mean /= n;
  errors.bias /= n;
  return errors;
}

}  // namespace

Errors errors_of(const std::vector<double>& residuals) {
  return errors_over(residuals.size(), [&](std::size_t i) { return std::exp(-residuals[i]) - 1; });
}

Errors summarize_errors(const std::vector<double>& predicted, const std::vector<double>& measured) {
  UNDERSTUDY_ASSERT(predicted.size() == measured.size());
  return errors_over(measured.size(),
                     [&](std::size_t i) { return predicted[i] / measured[i] - 1; });
}

double conformal_quantile(std::vector<double> scores, double share, double beyond) {
  if (scores.empty()) {
    return 0;
  }
  std::ranges::sort(scores);
  const double rank = std::ceil(share * static_cast<double>(scores.size() + 1));
  if (rank > static_cast<double>(scores.size())) {
    return scores.back() * beyond;
  }
  return scores[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace understudy::predictor
