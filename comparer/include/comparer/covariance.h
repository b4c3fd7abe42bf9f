#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace understudy::comparer {

/// What a row may answer to: how fast the cores are, and what the other classes do.
inline constexpr std::size_t kCovariates = 2;
inline constexpr std::size_t kOfClock = 0;
inline constexpr std::size_t kOfClasses = 1;

/// Logarithms by iteration; one that does not exist is empty.
using Covariates = std::array<std::vector<double>, kCovariates>;

/// One run of a row: logarithms of its times and, beside each, of what it may answer to. All of one
/// length, at least five.
struct CovariateRun {
  std::vector<double> response;
  Covariates covariates;
};

/// A row's level in each run, with the part taken out that follows the covariates. Only differences
/// between runs mean something.
struct AdjustedLevels {
  std::vector<double> a, b;
  double difference = 0;  ///< mean of b − mean of a
  double variance = 0;    ///< of the difference, as far as the runs show it
  double degrees = 1;     ///< of freedom that the regression leaves
};

/// Analysis of covariance (Fisher 1932): within the runs, how the row answers to each covariate; by
/// that, what it would be in each run if the covariates were alike. docs/metrics.md, "Compare", has
/// the formulas. At least one run a side. O(samples).
[[nodiscard]] AdjustedLevels adjusted_levels(const std::vector<CovariateRun>& a,
                                             const std::vector<CovariateRun>& b);

}  // namespace understudy::comparer
