#include "reference.h"

#include <algorithm>
#include <cmath>
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
/// So many rows the assumption setting as that the constants of noise.h fit.
constexpr double kPriorRows = 5;

using Members = std::vector<const Estimate*>;

/// The weighted median over the members of one value each.
template <typename ValueOf>
double median_of(const Members& members, const std::vector<double>& weights, ValueOf value_of) {
  std::vector<double> values(members.size());
  std::ranges::transform(members, values.begin(),
                         [&](const Estimate* member) { return value_of(*member); });
  return weighted_median(values, weights);
}

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
    members.push_back(&estimate);
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
  reference.draws.resize(members.front()->draws.size());
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

}  // namespace understudy::comparer
