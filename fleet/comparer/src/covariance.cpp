#include "fleet/comparer/covariance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fleet/comparer/statistics.h"

namespace understudy::comparer {
namespace {

using Vector = std::array<double, kCovariates>;

/// Prior knowledge of a row's slopes: their sum deviates from 1 by the first standard deviation,
/// and they differ from each other by the second.
constexpr double kSpreadOfSum = 0.3;
constexpr double kSpreadOfDifference = 0.5;
/// A single sample is clamped to within this many deviations of the run from the median of itself
/// and this many neighbours on either side.
constexpr std::size_t kNeighboursPerSide = 4;
constexpr double kDeviations = 2;
/// Means of neighbouring groups of samples are correlated: this many means count as one.
constexpr double kAlike = 2;
/// The speed probe shows all effects of the clock, but the other classes show only in part what
/// neighbours do to memory. So a row that follows the classes rather than the clock is less certain
/// in two ways: its runs' means drift beyond the blocks within them (a variance proportional to the
/// square of the classes' share), and its slopes may differ between the runs. A block is a sixth of
/// the run.
constexpr double kWanders = 3;
constexpr double kSlopesDiffer = 0.2;
constexpr double kLeastShareOfClasses = 0.5;
constexpr std::size_t kBlocks = 6;
constexpr double kLeastVariance = 1e-8;

/// Clamps single interrupted samples to the vicinity of their neighbours.
std::vector<double> without_spikes(const std::vector<double>& samples) {
  std::vector<double> levels;
  std::vector<double> distances;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t first = i - std::min(i, kNeighboursPerSide);
    const std::size_t last = std::min(i + kNeighboursPerSide + 1, samples.size());
    levels.push_back(*et_schema::median({samples.begin() + static_cast<std::ptrdiff_t>(first),
                                         samples.begin() + static_cast<std::ptrdiff_t>(last)}));
    distances.push_back(std::abs(samples[i] - levels.back()));
  }
  const double most = kDeviations * et_schema::median(distances).value_or(0) / kMedianOfNormal;
  if (most == 0) {
    return samples;  // most samples are equal: a different one is no spike
  }
  std::vector<double> result(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    result[i] = std::clamp(samples[i], levels[i] - most, levels[i] + most);
  }
  return result;
}

/// Returns the means of groups of ⌊√n ÷ 2⌋ samples. Means remove the short noise of a covariate,
/// which does not affect the row, and keep the machine's slower changes.
std::vector<double> group_means(const std::vector<double>& samples) {
  const double root = std::sqrt(static_cast<double>(samples.size()));
  const std::size_t size = std::max<std::size_t>(static_cast<std::size_t>(root / 2), 1);
  const std::size_t groups = samples.size() / size;
  std::vector<double> means(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    const auto first = samples.begin() + static_cast<std::ptrdiff_t>(g * size);
    const auto last = g + 1 == groups ? samples.end() : first + static_cast<std::ptrdiff_t>(size);
    means[g] = std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
  }
  return means;
}

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// A symmetric matrix.
struct Matrix {
  double xx = 0, xy = 0, yy = 0;
  Matrix& operator+=(const Matrix& other) {
    xx += other.xx;
    xy += other.xy;
    yy += other.yy;
    return *this;
  }
  friend Matrix operator*(double factor, const Matrix& matrix) {
    return {factor * matrix.xx, factor * matrix.xy, factor * matrix.yy};
  }
  friend Vector operator*(const Matrix& matrix, const Vector& vector) {
    return {matrix.xx * vector[0] + matrix.xy * vector[1],
            matrix.xy * vector[0] + matrix.yy * vector[1]};
  }
  [[nodiscard]] Vector solve(const Vector& right) const {
    const double determinant = xx * yy - xy * xy;
    return {(yy * right[0] - xy * right[1]) / determinant,
            (xx * right[1] - xy * right[0]) / determinant};
  }
};

/// Precision of the prior of the slopes. With one covariate, its slope is the sum.
Matrix prior_precision(std::size_t covariates) {
  const double sum = 1 / (kSpreadOfSum * kSpreadOfSum);
  const double difference = 1 / (kSpreadOfDifference * kSpreadOfDifference);
  return covariates < kCovariates ? Matrix{sum, 0, sum}
                                  : Matrix{sum + difference, sum - difference, sum + difference};
}

/// Group means of a run, minus their mean.
struct Centered {
  /// Sign and weight of the run in the difference: 1 ÷ runs of B, or −1 ÷ runs of A.
  double sign = 1;
  double level = 0;
  Vector covariate_levels = {};
  std::array<bool, kCovariates> is_there = {};
  std::vector<double> response;
  std::vector<Vector> covariates;
};

Centered center(const CovariateRun& run, double sign) {
  Centered result;
  result.sign = sign;
  result.response = group_means(without_spikes(run.response));
  result.level = mean(result.response);
  for (double& value : result.response) {
    value -= result.level;
  }
  result.covariates.resize(result.response.size());
  for (std::size_t c = 0; c < kCovariates; ++c) {
    if (run.covariates[c].empty()) {
      continue;
    }
    result.is_there[c] = true;
    const std::vector<double> means = group_means(without_spikes(run.covariates[c]));
    result.covariate_levels[c] = mean(means);
    for (std::size_t g = 0; g < means.size(); ++g) {
      result.covariates[g][c] = means[g] - result.covariate_levels[c];
    }
  }
  return result;
}

/// Slopes by least squares with a prior, and their residuals.
class Regression {
 public:
  explicit Regression(const std::vector<Centered>& runs) : runs_(runs) {
    Matrix squares;
    Vector products = {};
    for (const Centered& run : runs) {
      for (std::size_t g = 0; g < run.response.size(); ++g) {
        const Vector& z = run.covariates[g];
        squares.xx += z[0] * z[0];
        squares.xy += z[0] * z[1];
        squares.yy += z[1] * z[1];
        for (std::size_t c = 0; c < kCovariates; ++c) {
          products[c] += z[c] * run.response[g];
        }
      }
      degrees_ += static_cast<double>(run.response.size()) - 1;
    }
    const auto there = static_cast<std::size_t>(
        std::max<std::ptrdiff_t>(std::ranges::count(runs.front().is_there, true), 1));
    degrees_ = std::max(degrees_ - static_cast<double>(there), 1.0);
    prior_ = prior_precision(there);
    slopes_.fill(1 / static_cast<double>(there));
    const Vector prior_product = prior_ * slopes_;
    constexpr int kRounds = 5;  // the residuals' variance and the slopes settle quickly
    for (int round = 0; round < kRounds; ++round) {
      variance_ = std::max(residual_squares() / degrees_, kLeastVariance) * kAlike;
      precision_ = 1 / variance_ * squares;
      precision_ += prior_;
      slopes_ = precision_.solve(
          {products[0] / variance_ + prior_product[0], products[1] / variance_ + prior_product[1]});
    }
  }
  [[nodiscard]] double degrees() const { return degrees_; }
  [[nodiscard]] const Vector& slopes() const { return slopes_; }

  /// Variance of the difference of the levels if the covariates' levels differ by `gap`.
  [[nodiscard]] double variance_of_difference(const Vector& gap) const {
    const Vector reach = precision_.solve(gap);
    const double slope_spread = kSlopesDiffer * share_of_classes();
    double variance = dot(reach, prior_ * reach) + slope_spread * slope_spread * dot(gap, gap);
    for (const Centered& run : runs_) {
      variance += variance_of(run, reach);
    }
    return variance;
  }

 private:
  [[nodiscard]] double residual(const Centered& run, std::size_t group) const {
    return run.response[group] - dot(slopes_, run.covariates[group]);
  }
  [[nodiscard]] double residual_squares() const {
    double sum = 0;
    for (const Centered& run : runs_) {
      for (std::size_t g = 0; g < run.response.size(); ++g) {
        sum += std::pow(residual(run, g), 2);
      }
    }
    return sum;
  }
  /// Share of the classes in the slopes; at least kLeastShareOfClasses.
  [[nodiscard]] double share_of_classes() const {
    const std::array<bool, kCovariates>& there = runs_.front().is_there;
    const double of_clock = there[kOfClock] ? std::max(slopes_[kOfClock], 0.0) : 0;
    const double of_classes = there[kOfClasses] ? std::max(slopes_[kOfClasses], 0.0) : 0;
    const double both = of_clock + of_classes;
    return both > 0 ? std::max(of_classes / both, kLeastShareOfClasses) : 1;
  }
  /// Estimates the variance that a run adds to the difference, from sums over circular blocks.
  [[nodiscard]] double variance_of(const Centered& run, const Vector& reach) const {
    const std::size_t groups = run.response.size();
    std::vector<double> parts(groups);
    for (std::size_t g = 0; g < groups; ++g) {
      parts[g] = residual(run, g) * (run.sign / static_cast<double>(groups) -
                                     dot(run.covariates[g], reach) / variance_);
    }
    const std::size_t length = (groups + kBlocks - 1) / kBlocks;
    double squares = 0;
    for (std::size_t first = 0; first < groups; ++first) {
      double sum = 0;
      for (std::size_t i = 0; i < length; ++i) {
        sum += parts[(first + i) % groups];
      }
      squares += sum * sum;
    }
    const double blocks = static_cast<double>(groups) / static_cast<double>(length);
    const double of_mean = squares / static_cast<double>(groups) * blocks * blocks / (blocks - 1);
    const double share = share_of_classes();
    return (1 + kWanders * share * share * static_cast<double>(kBlocks)) * of_mean;
  }

  const std::vector<Centered>& runs_;
  double degrees_ = 0;
  double variance_ = kLeastVariance;
  Matrix prior_;
  Matrix precision_;
  Vector slopes_ = {};
};

}  // namespace

AdjustedLevels adjusted_levels(const std::vector<CovariateRun>& a,
                               const std::vector<CovariateRun>& b) {
  std::vector<Centered> runs;
  for (const CovariateRun& run : a) {
    runs.push_back(center(run, -1 / static_cast<double>(a.size())));
  }
  for (const CovariateRun& run : b) {
    runs.push_back(center(run, 1 / static_cast<double>(b.size())));
  }
  const Regression regression(runs);
  Vector gap = {};
  for (const Centered& run : runs) {
    for (std::size_t c = 0; c < kCovariates; ++c) {
      gap[c] += run.sign * run.covariate_levels[c];
    }
  }
  AdjustedLevels levels;
  for (const Centered& run : runs) {
    const double level = run.level - dot(regression.slopes(), run.covariate_levels);
    (run.sign < 0 ? levels.a : levels.b).push_back(level);
    levels.difference += run.sign * level;
  }
  levels.variance = regression.variance_of_difference(gap);
  levels.degrees = regression.degrees();
  return levels;
}

}  // namespace understudy::comparer
