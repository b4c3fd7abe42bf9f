#include "et_schema/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace understudy::et_schema {

std::optional<double> percentile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) {
    return std::nullopt;
  }
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - std::floor(position);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

std::optional<double> median(std::vector<double> samples) {
  constexpr double kHalf = 0.5;
  std::ranges::sort(samples);
  return percentile(samples, kHalf);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(const std::vector<double>& values) {
  if (values.size() < 2) {
    return 0;
  }
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) {
    squares += (value - middle) * (value - middle);
  }
  return squares / static_cast<double>(values.size() - 1);
}

/// Evaluates the continued fraction of the incomplete beta function by Lentz's method (Numerical
/// Recipes, 6.4). It converges fast for x < (a + 1) ÷ (a + b + 2).
static double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 300;
  constexpr double kTiny = std::numeric_limits<double>::min();
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int term = 1; term <= kMostTerms; ++term) {
    const double m = term;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const double coefficient : {even, odd}) {
      d = 1 / away_from_zero(1 + coefficient * d);
      c = away_from_zero(1 + coefficient / c);
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < std::numeric_limits<double>::epsilon()) {
      break;
    }
  }
  return fraction;
}

/// Returns the regularised incomplete beta function I_x(a, b).
static double regularised_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  const double front = std::exp(log_front);
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double two_sided_p(double t, double degrees) {
  return regularised_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double t_of_two_sided_p(double p, double degrees) {
  constexpr int kHalvings = 60;
  double low = 0;
  double high = 1000;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (two_sided_p(middle, degrees) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace understudy::et_schema
