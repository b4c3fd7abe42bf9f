#include <algorithm>
#include <cmath>

#include "et_schema/base/statistics.h"
#include "et_schema/model/measurement.h"

namespace understudy::et_schema {
namespace {

constexpr double kTail = 0.025;        // probability on either side
constexpr double kOfNormal = 1.95996;  // the normal distribution's quantile for kTail
constexpr std::size_t kMostExact = 1000;

/// Returns the largest rank j, counted from 1, with P(Binomial(n, 1/2) < j) at most kTail; 0 if
/// there is none.
std::size_t lower_rank(std::size_t n) {
  if (n > kMostExact) {
    const auto count = static_cast<double>(n);
    return static_cast<std::size_t>(std::floor((count - kOfNormal * std::sqrt(count)) / 2));
  }
  // 2^-1000 is a normal number: nothing underflows.
  double probability = std::pow(0.5, static_cast<double>(n));
  double below = 0;
  for (std::size_t k = 0; k <= n; ++k) {
    below += probability;
    if (below > kTail) {
      return k;
    }
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return 0;
}

}  // namespace

double MedianInterval::half_percent() const {
  constexpr double kPercent = 100;
  return (high - low) / 2 / median * kPercent;
}

std::optional<MedianInterval> median_interval(std::vector<double> samples) {
  std::erase_if(samples, [](double sample) { return !std::isfinite(sample); });
  const std::size_t rank = lower_rank(samples.size());
  if (rank == 0) {
    return std::nullopt;
  }
  std::ranges::sort(samples);
  return MedianInterval{*percentile(samples, 0.5), samples[rank - 1],
                        samples[samples.size() - rank]};
}

}  // namespace understudy::et_schema
