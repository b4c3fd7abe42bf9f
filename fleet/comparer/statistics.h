#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/base/statistics.h"

namespace understudy::comparer {

using et_schema::mean;
using et_schema::variance;

// The statistics that docs/metrics.md, "Compare", names, without knowledge of rows and runs, beside
// those of et_schema/base/statistics.h.

/// Mean of the ⌈n/10⌉ smallest samples, of three at least: what interference, which only ever adds
/// time, touches least.
/// The order of `samples` is changed. NaN for none. O(n).
[[nodiscard]] double mean_of_fastest(std::vector<double>& samples);

/// The median of |z| of a standard normal distribution.
inline constexpr double kMedianOfNormal = 0.6745;

/// Indices of one resample of a series of autocorrelated samples.
using Resample = std::vector<std::uint32_t>;

/// Length of the blocks that are drawn whole: √n or n ÷ 6, the longer, rounded up.
[[nodiscard]] std::size_t block_length(std::size_t samples);

/// `count` resamples of n samples by the circular block bootstrap (Politis, Romano 1992). The same
/// arguments give the same resamples.
[[nodiscard]] std::vector<Resample> block_resamples(std::size_t samples, std::size_t count,
                                                    std::uint64_t seed);

/// The value at which half of the weight lies on either side; the mean of two where the halves meet
/// between them. NaN where no weight is positive.
[[nodiscard]] double weighted_median(const std::vector<double>& values,
                                     const std::vector<double>& weights);

/// Holm's (1979) adjustment for testing many hypotheses, of which some matter more: to be held
/// against the level of the family. Weights are positive, one a p-value.
[[nodiscard]] std::vector<double> holm(const std::vector<double>& p_values,
                                       const std::vector<double>& weights);

}  // namespace understudy::comparer
