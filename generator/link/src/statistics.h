#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "generator/link/host.h"

namespace understudy::generator {

/// Returns the mean of at least one sample.
[[nodiscard]] inline std::int64_t mean(const std::vector<std::int64_t>& samples) {
  const std::int64_t sum =
      std::accumulate(samples.begin(), samples.end(), std::int64_t{0}, add_times);
  return sum / static_cast<std::int64_t>(samples.size());
}

/// Returns the median: for an even number of samples the mean of the middle two, for two samples
/// the smaller one, since many things slow a step down and nothing speeds it up. 0 for no samples.
/// Reorders the samples.
[[nodiscard]] inline std::int64_t median(std::vector<std::int64_t>& samples) {
  if (samples.empty()) {
    return 0;
  }
  if (samples.size() == 2) {
    return std::min(samples[0], samples[1]);
  }
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  if (samples.size() % 2 == 1) {
    return *middle;
  }
  const std::int64_t below = *std::ranges::max_element(samples.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace understudy::generator
