#include "fleet/comparer/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace understudy::comparer {
namespace {

/// The fastest samples are the fastest 1 / kFastest of all, but at least kFewestFastest samples.
constexpr std::size_t kFastest = 10;
constexpr std::size_t kFewestFastest = 3;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Returns the indices ordered by value.
std::vector<std::size_t> order_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

}  // namespace

double mean_of_fastest(std::vector<double>& samples) {
  if (samples.empty()) {
    return kNan;
  }
  const std::size_t tenth = (samples.size() + kFastest - 1) / kFastest;
  const std::size_t count = std::min(samples.size(), std::max(tenth, kFewestFastest));
  const auto end = samples.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(samples.begin(), end - 1, samples.end());
  return std::accumulate(samples.begin(), end, 0.0) / static_cast<double>(count);
}

std::size_t block_length(std::size_t samples) {
  const auto count = static_cast<double>(samples);
  return static_cast<std::size_t>(std::ceil(std::max(std::sqrt(count), count / 6)));
}

std::vector<Resample> block_resamples(std::size_t samples, std::size_t count, std::uint64_t seed) {
  const std::size_t length = block_length(samples);
  std::mt19937_64 random(seed);
  std::vector<Resample> resamples(count);
  for (Resample& resample : resamples) {
    resample.reserve(samples);
    while (resample.size() < samples) {
      // std::uniform_int_distribution would give different numbers with different standard
      // libraries.
      std::size_t at = random() % samples;
      for (std::size_t i = 0; i < length && resample.size() < samples; ++i) {
        resample.push_back(static_cast<std::uint32_t>(at));
        at = at + 1 == samples ? 0 : at + 1;
      }
    }
  }
  return resamples;
}

double weighted_median(const std::vector<double>& values, const std::vector<double>& weights) {
  const double half = std::accumulate(weights.begin(), weights.end(), 0.0) / 2;
  const std::vector<std::size_t> order = order_of(values);
  constexpr double kRounding = 1e-12;
  double below = 0;
  for (std::size_t i = 0; i < order.size() && half > 0; ++i) {
    below += weights[order[i]];
    if (below > half * (1 + kRounding)) {
      return values[order[i]];
    }
    if (below >= half * (1 - kRounding) && i + 1 < order.size()) {
      return (values[order[i]] + values[order[i + 1]]) / 2;
    }
  }
  return kNan;
}

std::vector<double> holm(const std::vector<double>& p_values, const std::vector<double>& weights) {
  std::vector<double> weighted(p_values.size());
  std::ranges::transform(p_values, weights, weighted.begin(), std::divides());
  std::vector<double> adjusted(p_values.size());
  double highest = 0;
  double left = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const std::size_t i : order_of(weighted)) {
    highest = std::max(highest, std::min(1.0, left * weighted[i]));
    adjusted[i] = highest;
    left -= weights[i];
  }
  return adjusted;
}

}  // namespace understudy::comparer
