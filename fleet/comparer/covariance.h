#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace understudy::comparer {

/// What may explain a row's times: the speed of the cores, and the other classes.
inline constexpr std::size_t kCovariates = 2;
inline constexpr std::size_t kOfClock = 0;
inline constexpr std::size_t kOfClasses = 1;

/// Logarithms by iteration; one that does not exist is empty.
using Covariates = std::array<std::vector<double>, kCovariates>;

/// One run of a row: logarithms of its times and, for each, of the covariates. All of one length,
/// at least five.
struct CovariateRun {
  std::vector<double> response;
  Covariates covariates;
};

/// A row's level in each run, without the part that follows the covariates. Only differences
/// between runs are meaningful.
struct AdjustedLevels {
  std::vector<double> a, b;
  double difference = 0;  ///< mean of b − mean of a
  double variance = 0;    ///< of the difference, as far as the runs show it
  double degrees = 1;     ///< of freedom that the regression leaves
};

/// Analysis of covariance (Fisher 1932): within the runs, how the row depends on each covariate;
/// from that, its level in each run if the covariates were equal. docs/metrics.md, "Compare", has
/// the formulas. At least one run a side. O(samples).
[[nodiscard]] AdjustedLevels adjusted_levels(const std::vector<CovariateRun>& a,
                                             const std::vector<CovariateRun>& b);

}  // namespace understudy::comparer
