#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/base/statistics.h"

namespace understudy::comparer {

using et_schema::mean;
using et_schema::variance;

// The statistics of docs/metrics.md, "Compare", that do not depend on rows and runs, in addition to
// those of et_schema/base/statistics.h.

/// Returns the mean of the ⌈n/10⌉ smallest samples, but of at least three. Interference only adds
/// time, so these samples have the least of it. Reorders `samples`. NaN if empty. O(n).
[[nodiscard]] double mean_of_fastest(std::vector<double>& samples);

/// The median of |z| of a standard normal distribution.
inline constexpr double kMedianOfNormal = 0.6745;

/// Indices of one resample of a series of autocorrelated samples.
using Resample = std::vector<std::uint32_t>;

/// Returns the length of the blocks drawn as a whole: the larger of √n and n ÷ 6, rounded up.
[[nodiscard]] std::size_t block_length(std::size_t samples);

/// Returns `count` resamples of n samples by the circular block bootstrap (Politis, Romano 1992).
/// Deterministic.
[[nodiscard]] std::vector<Resample> block_resamples(std::size_t samples, std::size_t count,
                                                    std::uint64_t seed);

/// Returns the value with half of the weight on either side, or the mean of two values if the
/// halves meet between them. NaN if no weight is positive.
[[nodiscard]] double weighted_median(const std::vector<double>& values,
                                     const std::vector<double>& weights);

/// Returns p-values adjusted for weighted multiple testing (Holm 1979), to be compared with the
/// level of the whole family. Weights are positive, one per p-value.
[[nodiscard]] std::vector<double> holm(const std::vector<double>& p_values,
                                       const std::vector<double>& weights);

}  // namespace understudy::comparer
