#include "reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace understudy::comparer {
namespace {

/// Operators below it say little about anything but themselves.
constexpr double kLeastShare = 0.002;
/// The median of |z| of a normal distribution, and of z².
constexpr double kMedianOfNormal = 0.6745;
constexpr double kMedianOfSquare = kMedianOfNormal * kMedianOfNormal;
constexpr double kUpperQuartileOfSquare = 1.3233;
/// Milliseconds: logarithms need a time.
constexpr double kLeastSample = 1e-9;
/// So many rows the assumption setting as that the constants of noise.h fit.
constexpr double kPriorRows = 5;

/// What is above in one iteration has a cause of its own.
constexpr double kMostDeviation = 0.2;

using Members = std::vector<const EstimatedRow*>;

/// The weighted median over the members of one value each.
template <typename ValueOf>
double median_of(const Members& members, const std::vector<double>& weights, ValueOf value_of) {
  std::vector<double> values(members.size());
  std::ranges::transform(members, values.begin(),
                         [&](const EstimatedRow* member) { return value_of(*member->estimate); });
  return weighted_median(values, weights);
}

/// Logarithms of a run's samples around their median.
std::vector<double> deviations_of(const Series& row) {
  std::vector<double> logs;
  for (const double sample : row.samples_ms) {
    logs.push_back(std::log(std::max(sample, kLeastSample)));
  }
  const double middle = weighted_median(logs, std::vector<double>(logs.size(), 1.0));
  for (double& log : logs) {
    log = std::clamp(log - middle, -kMostDeviation, kMostDeviation);
  }
  return logs;
}

/// What the members' iterations have in common, run by run.
class CommonIterations {
 public:
  CommonIterations(const Members& members, const std::vector<double>& weights)
      : members_(members), weights_(weights) {}

  template <typename RunOf>
  void add_run(RunOf run_of) {
    std::vector<std::vector<double>> of_members;
    std::size_t iterations = std::numeric_limits<std::size_t>::max();
    for (const EstimatedRow* const member : members_) {
      of_members.push_back(deviations_of(*run_of(member->row)));
      iterations = std::min(iterations, of_members.back().size());
    }
    std::vector<double>& common = runs_.emplace_back();
    std::vector<double> values(members_.size());
    for (std::size_t i = 0; i < iterations; ++i) {
      std::ranges::transform(of_members, values.begin(),
                             [i](const std::vector<double>& each) { return each[i]; });
      common.push_back(weighted_median(values, weights_));
      spread_ += weighted_variance(values);
      squares_ += common.back() * common.back();
      ++count_;
    }
  }
  /// Of a single class nothing tells how much is its own: half is taken to be.
  [[nodiscard]] double noise() const {
    if (count_ == 0) {
      return 0;
    }
    return (members_.size() < 2 ? squares_ / 2 : spread_ / effective_members()) /
           static_cast<double>(count_);
  }
  [[nodiscard]] std::vector<std::vector<double>> take() { return std::move(runs_); }

 private:
  /// (Σw)² ÷ Σw², and a median of three or more knows less than their mean.
  [[nodiscard]] double effective_members() const {
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    const double squares =
        std::inner_product(weights_.begin(), weights_.end(), weights_.begin(), 0.0);
    const double of_median = members_.size() > 2 ? 2 / std::numbers::pi : 1;
    return std::max(of_median * sum * sum / squares, 1.0);
  }
  [[nodiscard]] double weighted_variance(const std::vector<double>& values) const {
    double weights = 0;
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      weights += weights_[i];
      sum += weights_[i] * values[i];
      squares += weights_[i] * values[i] * values[i];
    }
    const double mean = sum / weights;
    const auto members = static_cast<double>(values.size());
    return members < 2 ? 0
                       : std::max(squares / weights - mean * mean, 0.0) * members / (members - 1);
  }

  const Members& members_;
  const std::vector<double>& weights_;
  std::vector<std::vector<double>> runs_;
  double spread_ = 0;   ///< Σ variance between the members
  double squares_ = 0;  ///< Σ square of what they have in common
  std::size_t count_ = 0;
};

double mean_log(const Estimate& row) {
  const double sum = std::accumulate(row.logs_a.begin(), row.logs_a.end(), 0.0) +
                     std::accumulate(row.logs_b.begin(), row.logs_b.end(), 0.0);
  return sum / static_cast<double>(row.logs_a.size() + row.logs_b.size());
}

/// By precision, but not without end: one large class that changed must not outweigh all others
/// that did not.
double weight_of(const Estimate& estimate, const Setting& setting) {
  constexpr double kSoftening = 0.01;
  return 1 / (by_the_clock(estimate, 1, setting).variance + kSoftening * kSoftening);
}

/// By how much more than expected the operators outside of a class vary around the reference: the
/// genomic control of Devlin and Roeder (1999), pulled towards 1 where operators are few.
double inflation_of(const Reference& reference, const std::string& left_out,
                    const std::vector<EstimatedRow>& rows, const Setting& setting) {
  std::vector<double> squares;
  for (const EstimatedRow& each : rows) {
    const std::optional<Estimate>& estimate = each.estimate;
    if (each.row.kind != RowKind::kOperator || each.row.detail == left_out || !estimate ||
        estimate->share < kLeastShare) {
      continue;
    }
    const double off = estimate->log_ratio - reference.value;
    squares.push_back(off * off / by_the_clock(*estimate, 1, setting).variance);
  }
  const auto count = static_cast<double>(squares.size());
  if (squares.empty()) {
    return 1;
  }
  std::ranges::sort(squares);
  const double half = squares[squares.size() / 2] / kMedianOfSquare;
  const double most = squares[squares.size() * 3 / 4] / kUpperQuartileOfSquare;
  const double seen = std::max(half, most);
  return std::max(1.0, (count * seen + kPriorRows) / (count + kPriorRows));
}

}  // namespace

std::optional<Reference> reference_without(const std::string& left_out,
                                           const std::vector<EstimatedRow>& rows,
                                           const Setting& setting) {
  Members members;
  std::vector<double> weights;
  double all_weights = 0;
  double weighted_variances = 0;
  for (const EstimatedRow& each : rows) {
    if (each.row.kind != RowKind::kClass || each.row.name == left_out || !each.estimate ||
        each.estimate->has_few_samples) {
      continue;
    }
    const Estimate& estimate = *each.estimate;
    members.push_back(&each);
    const double weight = weight_of(estimate, setting);
    weights.push_back(weight);
    all_weights += weight;
    weighted_variances += weight * weight * process_variance(estimate, setting);
  }
  if (members.empty()) {
    return std::nullopt;
  }
  Reference reference;
  reference.value = median_of(members, weights, [](const Estimate& row) { return row.log_ratio; });
  reference.draws.resize(members.front()->estimate->draws.size());
  for (std::size_t i = 0; i < reference.draws.size(); ++i) {
    reference.draws[i] =
        median_of(members, weights, [i](const Estimate& row) { return row.draws[i]; });
  }
  for (std::size_t i = 0; i < setting.a; ++i) {
    reference.logs_a.push_back(median_of(
        members, weights, [i](const Estimate& row) { return row.logs_a[i] - mean_log(row); }));
  }
  for (std::size_t i = 0; i < setting.b; ++i) {
    reference.logs_b.push_back(median_of(
        members, weights, [i](const Estimate& row) { return row.logs_b[i] - mean_log(row); }));
  }
  CommonIterations common(members, weights);
  for (std::size_t i = 0; i < setting.a; ++i) {
    common.add_run([i](const PairedRow& row) { return row.a[i]; });
  }
  for (std::size_t i = 0; i < setting.b; ++i) {
    common.add_run([i](const PairedRow& row) { return row.b[i]; });
  }
  reference.iteration_noise = common.noise();
  reference.iterations = common.take();
  // The variance of a median is π/2 times that of the mean.
  reference.process_variance =
      std::numbers::pi / 2 * weighted_variances / (all_weights * all_weights);
  const double middle_off = median_of(members, weights, [&](const Estimate& row) {
    return std::abs(row.log_ratio - reference.value);
  });
  reference.spread_variance = std::pow(middle_off / kMedianOfNormal, 2);
  reference.inflation = inflation_of(reference, left_out, rows, setting);
  return reference;
}

Answer answer_of(const PairedRow& row, const Reference& rest) {
  double products = 0;
  double squares = 0;
  double own_squares = 0;
  std::size_t count = 0;
  for (std::size_t run = 0; run < rest.iterations.size(); ++run) {
    const Series* const series = run < row.a.size() ? row.a[run] : row.b[run - row.a.size()];
    const std::vector<double> mine = deviations_of(*series);
    const std::vector<double>& theirs = rest.iterations[run];
    for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
      products += mine[i] * theirs[i];
      squares += theirs[i] * theirs[i];
      own_squares += mine[i] * mine[i];
      ++count;
    }
  }
  const double prior = 1 / (kSlopeSpread * kSlopeSpread);
  const auto samples = static_cast<double>(count);
  // What moves the rest is smaller than what the rest moves by: its own noise is no cause.
  const double cause = squares - samples * rest.iteration_noise;
  if (samples <= kPriorRows || cause <= 0 || own_squares == 0) {
    return {1, 1 / prior};
  }
  const double slope = products / cause;
  const double unexplained = std::max(own_squares - products * products / squares, 0.0) / samples;
  const auto alike = static_cast<double>(block_length(count));  // samples beside each other
  const double variance = unexplained * squares / (cause * cause) * alike;
  const double precision = variance > 0 ? 1 / variance : std::numeric_limits<double>::max();
  return {(slope * precision + prior) / (precision + prior), 1 / (precision + prior)};
}

}  // namespace understudy::comparer
