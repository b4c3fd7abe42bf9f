#include "predictor/fitting/errors.h"

#include <algorithm>
#include <cmath>

#include "et_schema/support/assert.h"

namespace understudy::predictor {

ErrorSummary summarize_errors(const std::vector<double>& predicted,
                              const std::vector<double>& measured) {
  UNDERSTUDY_ASSERT(predicted.size() == measured.size());
  // Keeps the logarithm of an exact prediction finite, as the source of the measure does.
  constexpr double kLeast = 4e-4;
  ErrorSummary summary;
  summary.n = measured.size();
  if (measured.empty()) {
    return summary;
  }
  double logarithms = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double error = predicted[i] / measured[i] - 1;
    logarithms += std::log(std::abs(error) + kLeast);
    summary.mean += std::abs(error);
    summary.bias += error;
    summary.max = std::max(summary.max, std::abs(error));
  }
  const auto n = static_cast<double>(measured.size());
  summary.geometric = std::exp(logarithms / n);
  summary.mean /= n;
  summary.bias /= n;
  return summary;
}

double conformal_quantile(std::vector<double> scores, double share) {
  if (scores.empty()) {
    return 0;
  }
  std::ranges::sort(scores);
  const double rank = std::ceil(share * static_cast<double>(scores.size() + 1));
  return scores[std::min(scores.size(), static_cast<std::size_t>(std::max(rank, 1.0))) - 1];
}

}  // namespace understudy::predictor
