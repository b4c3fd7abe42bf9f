#include "reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "fleet/comparer/covariance.h"
#include "fleet/comparer/statistics.h"

namespace understudy::comparer {
namespace {

/// Operators with a smaller share of the step are too noisy to estimate the inflation.
constexpr double kLeastShare = 0.002;
/// The median and the upper quartile of z² for a standard normal z.
constexpr double kMedianOfSquare = kMedianOfNormal * kMedianOfNormal;
constexpr double kUpperQuartileOfSquare = 1.3233;
/// The part of a whole step that the clock does not explain has no bound, and no reference to
/// compare it with. Its variance is the variance within the runs, times this factor.
constexpr double kUnboundedByClock = 1.5;
/// Weight, in rows, of the assumption that the constants of noise.h are right.
constexpr double kPriorRows = 5;

using Members = std::vector<const EstimatedRow*>;

/// Returns the weighted median over the members of one value each.
template <typename ValueOf>
double median_of(const Members& members, const std::vector<double>& weights, ValueOf value_of) {
  std::vector<double> values(members.size());
  std::ranges::transform(members, values.begin(),
                         [&](const EstimatedRow* member) { return value_of(*member->estimate); });
  return weighted_median(values, weights);
}

/// Returns for each iteration the mean of the speed probes before and after it.
std::vector<double> around(const std::vector<double>& speed_probe_ms) {
  std::vector<double> result = speed_probe_ms;
  for (std::size_t i = 0; i + 1 < result.size(); ++i) {
    result[i] = (result[i] + result[i + 1]) / 2;
  }
  return result;
}

/// Returns a row's series in a run; the runs of A come before those of B.
const Series& series_of(const PairedRow& row, std::size_t run) {
  return run < row.a.size() ? *row.a[run] : *row.b[run - row.a.size()];
}

/// Returns the covariates of one run.
Covariates covariates_of(const Members& members, std::size_t run) {
  std::vector<double> speed_probe_ms;
  std::vector<double> classes_ms;
  for (const EstimatedRow* const member : members) {
    const std::vector<double>& samples_ms = series_of(member->row, run).samples_ms;
    if (member->row.kind == RowKind::kSpeedProbe) {
      speed_probe_ms = around(samples_ms);
      continue;
    }
    if (classes_ms.empty()) {
      classes_ms.resize(samples_ms.size());
    }
    classes_ms.resize(std::min(classes_ms.size(), samples_ms.size()));
    std::ranges::transform(classes_ms, samples_ms, classes_ms.begin(), std::plus());
  }
  return {logs_of(speed_probe_ms), logs_of(classes_ms)};
}

bool has_zeros(const std::vector<double>& samples_ms) {
  return std::ranges::any_of(samples_ms, [](double ms) { return ms <= 0; });
}

double mean_log(const Estimate& row) {
  const double sum = std::accumulate(row.logs_a.begin(), row.logs_a.end(), 0.0) +
                     std::accumulate(row.logs_b.begin(), row.logs_b.end(), 0.0);
  return sum / static_cast<double>(row.logs_a.size() + row.logs_b.size());
}

/// Weight by precision, bounded so that one large class that changed does not outweigh all others
/// that did not.
double weight_of(const Estimate& estimate, const Setting& setting) {
  constexpr double kSoftening = 0.01;
  return 1 / (by_the_clock(estimate, 1, setting).variance + kSoftening * kSoftening);
}

/// Returns the factor by which operators outside of these classes vary more around the reference
/// than expected: the genomic control of Devlin and Roeder (1999), shrunk towards 1 if there are
/// few operators.
double inflation_of(const Reference& reference, const std::set<std::string>& left_out,
                    const std::vector<EstimatedRow>& rows, const Setting& setting) {
  std::vector<double> squares;
  for (const EstimatedRow& each : rows) {
    const std::optional<Estimate>& estimate = each.estimate;
    if (each.row.kind != RowKind::kOperator || left_out.contains(each.row.detail) || !estimate ||
        estimate->share < kLeastShare) {
      continue;
    }
    const double off = estimate->log_ratio - reference.all.log_ratio;
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

/// Estimates the change of the row that the covariates do not explain; `covariates` has one set per
/// run. `together` combines the runs: moderated() or widened().
template <typename Together>
std::optional<Uncertain> beside(const EstimatedRow& row, const std::vector<Covariates>& covariates,
                                const Setting& setting, Together together) {
  std::vector<CovariateRun> a;
  std::vector<CovariateRun> b;
  for (std::size_t run = 0; run < covariates.size(); ++run) {
    const std::vector<double>& samples_ms = series_of(row.row, run).samples_ms;
    const bool is_aligned = std::ranges::all_of(covariates[run], [&](const auto& covariate) {
      return covariate.empty() || covariate.size() == samples_ms.size();
    });
    if (!is_aligned || has_zeros(samples_ms)) {
      return std::nullopt;
    }
    (run < row.row.a.size() ? a : b).push_back({logs_of(samples_ms), covariates[run]});
  }
  const AdjustedLevels levels = adjusted_levels(a, b);
  const double expected =
      levels.variance + process_variance(*row.estimate, setting) * setting.of_difference();
  Uncertain result = together(levels.difference, expected, levels.a, levels.b, setting);
  result.degrees = std::min(result.degrees, levels.degrees);
  return result;
}

}  // namespace

std::optional<Reference> reference_without(const std::set<std::string>& left_out,
                                           const std::vector<EstimatedRow>& rows,
                                           const Setting& setting) {
  Reference reference;
  Members members;
  std::vector<double> weights;
  for (const EstimatedRow& each : rows) {
    const bool is_left_out = each.row.kind == RowKind::kClass
                                 ? left_out.contains(each.row.name)
                                 : each.row.kind != RowKind::kSpeedProbe;
    if (is_left_out || !each.estimate || each.estimate->has_few_samples) {
      continue;
    }
    members.push_back(&each);
    weights.push_back(weight_of(*each.estimate, setting));
    reference.has_speed_probe |= each.row.kind == RowKind::kSpeedProbe;
  }
  if (members.empty()) {
    return std::nullopt;
  }
  reference.all.log_ratio =
      median_of(members, weights, [](const Estimate& row) { return row.log_ratio; });
  reference.all.draws.resize(members.front()->estimate->draws.size());
  for (std::size_t i = 0; i < reference.all.draws.size(); ++i) {
    reference.all.draws[i] =
        median_of(members, weights, [i](const Estimate& row) { return row.draws[i]; });
  }
  for (std::size_t i = 0; i < setting.a; ++i) {
    reference.all.logs_a.push_back(median_of(
        members, weights, [i](const Estimate& row) { return row.logs_a[i] - mean_log(row); }));
  }
  for (std::size_t i = 0; i < setting.b; ++i) {
    reference.all.logs_b.push_back(median_of(
        members, weights, [i](const Estimate& row) { return row.logs_b[i] - mean_log(row); }));
  }
  for (std::size_t run = 0; run < setting.a + setting.b; ++run) {
    reference.covariates.push_back(covariates_of(members, run));
  }
  const double middle_off = median_of(members, weights, [&](const Estimate& row) {
    return std::abs(row.log_ratio - reference.all.log_ratio);
  });
  reference.spread_variance = std::pow(middle_off / kMedianOfNormal, 2);
  reference.inflation = inflation_of(reference, left_out, rows, setting);
  return reference;
}

std::optional<Uncertain> beside_clock(const EstimatedRow& iteration, const Setting& setting) {
  std::vector<Covariates> covariates;
  for (std::size_t run = 0; run < setting.a + setting.b; ++run) {
    const std::vector<double>& speed_probe_ms = series_of(iteration.row, run).speed_probe_ms;
    if (speed_probe_ms.empty()) {
      return std::nullopt;
    }
    // The clock takes the slot of the classes, because the regression adds the uncertainty of
    // neighbours' effects only there.
    covariates.emplace_back()[kOfClasses] = logs_of(around(speed_probe_ms));
  }
  return beside(
      iteration, covariates, setting,
      [](double value, double expected, const std::vector<double>& a, const std::vector<double>& b,
         const Setting& runs) { return widened(value, kUnboundedByClock * expected, a, b, runs); });
}

std::optional<Uncertain> beside_rest(const EstimatedRow& row, const Reference& rest,
                                     const Setting& setting) {
  return beside(row, rest.covariates, setting, moderated);
}

}  // namespace understudy::comparer
