#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace understudy::comparer {

/// Covariates that may explain a row's times: the cores' speed, and the other classes.
inline constexpr std::size_t kCovariates = 2;
inline constexpr std::size_t kOfClock = 0;
inline constexpr std::size_t kOfClasses = 1;

/// Logarithms by iteration; empty if the covariate was not measured.
using Covariates = std::array<std::vector<double>, kCovariates>;

/// One run of a row: logarithms of its times and of the covariates. All vectors have the same
/// length, at least five.
struct CovariateRun {
  std::vector<double> response;
  Covariates covariates;
};

/// A row's level in each run, without the part that follows the covariates. Only differences
/// between runs are meaningful.
struct AdjustedLevels {
  std::vector<double> a, b;
  double difference = 0;  ///< mean of b − mean of a
  double variance = 0;    ///< of `difference`, estimated from the runs
  double degrees = 1;     ///< degrees of freedom that the regression leaves
};

/// Analysis of covariance (Fisher 1932): estimates within the runs how the row depends on each
/// covariate, then computes its level in each run for equal covariates. docs/metrics.md, "Compare",
/// has the formulas. Needs at least one run per side. O(samples).
[[nodiscard]] AdjustedLevels adjusted_levels(const std::vector<CovariateRun>& a,
                                             const std::vector<CovariateRun>& b);

}  // namespace understudy::comparer
