#include "noise.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "et_schema/base/map_values.h"
#include "et_schema/base/statistics.h"

namespace understudy::comparer {
namespace {

constexpr std::size_t kDraws = 500;
/// Smaller times and shares are raised to this value, since logarithms need positive numbers.
constexpr double kLeast = 1e-9;
/// Assumed scatter of a single sample if a run has too few samples to show it: relative to the row,
/// and as a share of the step.
constexpr double kUntoldScatter = 0.05;
constexpr double kUntoldScatterOfStep = 0.002;

double square(double value) {
  return value * value;
}

/// Variance of the difference of the sides' means, estimated from the spread between runs of one
/// side, pooled over both sides.
double seen_variance(const std::vector<double>& a, const std::vector<double>& b,
                     const Setting& setting) {
  const double squares = static_cast<double>(a.size() - 1) * variance(a) +
                         static_cast<double>(b.size() - 1) * variance(b);
  return squares / static_cast<double>(setting.degrees()) * setting.of_difference();
}

/// Scatter of a row's single samples, from the runs with enough of them; at least kUntoldScatter.
double scatter_of(const PairedRow& row) {
  double scatter = kUntoldScatter;
  for (const std::vector<const Series*>* side : {&row.a, &row.b}) {
    for (const Series* series : *side) {
      const std::vector<double> logs = logs_of(series->samples_ms);
      if (logs.size() >= kFewSamples) {
        scatter = std::max(scatter, std::sqrt(variance(logs)));
      }
    }
  }
  return scatter;
}

bool is_complete(const std::vector<const Series*>& side) {
  return std::ranges::all_of(side, [](const Series* row) {
    return row != nullptr && std::ranges::any_of(row->samples_ms, [](double ms) { return ms > 0; });
  });
}

/// Returns the expected variance of the difference between the sides' means: sampling and the
/// spread from one process to the next. The spread of the machine's state (kMachineSpread) is not
/// included.
double expected_variance(const Estimate& row, double inflation, const Setting& setting) {
  double expected = row.sampling_variance() +
                    inflation * process_variance(row, setting) * setting.of_difference();
  if (row.has_few_samples) {
    expected += square(kUntoldScatterOfStep / row.share) * setting.of_difference();
  }
  return expected;
}

/// Returns the more certain of two bounds.
Uncertain surer(const Uncertain& a, const Uncertain& b) {
  const double p_a = a.p();
  const double p_b = b.p();
  const bool is_a = p_a == p_b ? a.half_interval() < b.half_interval() : p_a < p_b;
  return is_a ? a : b;
}

}  // namespace

std::vector<double> logs_of(const std::vector<double>& samples_ms) {
  std::vector<double> logs(samples_ms.size());
  std::ranges::transform(samples_ms, logs.begin(),
                         [](double ms) { return std::log(std::max(ms, kLeast)); });
  return logs;
}

double Uncertain::half_interval() const {
  constexpr double kOutside = 0.05;  // probability outside of a 95 % interval
  return et_schema::t_of_two_sided_p(kOutside, degrees) * std::sqrt(variance);
}

double Uncertain::p() const {
  return variance > 0 ? et_schema::two_sided_p(value / std::sqrt(variance), degrees) : 1;
}

const std::vector<Resample>& Sampler::resamples(std::size_t samples, std::uint64_t run) {
  const auto [place, is_new] = resamples_.try_emplace({run, samples});
  if (is_new) {
    place->second = block_resamples(samples, kDraws, run);
  }
  return place->second;
}

Sampler::Location Sampler::locate(const Series& row, std::uint64_t run) {
  const auto log_of = [](std::vector<double>& samples) {
    return std::log(std::max(mean_of_fastest(samples), kLeast));
  };
  std::vector<double> samples = row.samples_ms;
  Location location{log_of(samples), {}, samples.size() < kFewSamples};
  if (location.has_few_samples) {
    location.draws.assign(kDraws, location.log_ms);
    return location;
  }
  // With few blocks the bootstrap underestimates the variance, as dividing by n instead of n − 1
  // does.
  const double blocks =
      static_cast<double>(samples.size()) / static_cast<double>(block_length(samples.size()));
  const double widening = std::sqrt(blocks / (blocks - 1));
  location.draws.reserve(kDraws);
  for (const Resample& resample : resamples(samples.size(), run)) {
    std::ranges::transform(resample, samples.begin(),
                           [&](std::uint32_t i) { return row.samples_ms[i]; });
    location.draws.push_back(location.log_ms + widening * (log_of(samples) - location.log_ms));
  }
  return location;
}

std::optional<Estimate> Sampler::estimate(const PairedRow& row) {
  if (!is_complete(row.a) || !is_complete(row.b)) {
    return std::nullopt;
  }
  Estimate estimate;
  estimate.draws.assign(kDraws, 0.0);
  std::uint64_t run = 0;
  const auto add = [&](const std::vector<const Series*>& side, double sign,
                       std::vector<double>& logs) {
    const auto runs = static_cast<double>(side.size());
    for (const Series* series : side) {
      const Location location = locate(*series, run++);
      logs.push_back(location.log_ms);
      for (std::size_t i = 0; i < kDraws; ++i) {
        estimate.draws[i] += sign * location.draws[i] / runs;
      }
      if (location.has_few_samples) {
        estimate.has_few_samples = true;
        estimate.extra_variance +=
            square(scatter_of(row)) / static_cast<double>(series->samples_ms.size()) / square(runs);
      }
    }
  };
  add(row.a, -1, estimate.logs_a);
  add(row.b, 1, estimate.logs_b);
  estimate.log_ratio = mean(estimate.logs_b) - mean(estimate.logs_a);
  estimate.a_ms = std::exp(mean(estimate.logs_a));
  estimate.b_ms = std::exp(mean(estimate.logs_b));
  return estimate;
}

Uncertain widened(double value, double expected_variance, const std::vector<double>& a,
                  const std::vector<double>& b, const Setting& setting) {
  if (setting.degrees() == 0) {
    return {value, expected_variance, kSingleRunDegrees};
  }
  const auto degrees = static_cast<double>(setting.degrees());
  const double beyond = std::max(seen_variance(a, b, setting) - expected_variance, 0.0);
  const double excess = beyond * degrees / (kPriorDegrees + degrees);
  const double both = expected_variance + excess;
  return {value, both,
          square(both) / (square(expected_variance) / kSingleRunDegrees +
                          square(excess) / (kPriorDegrees + degrees))};
}

Uncertain moderated(double value, double expected_variance, const std::vector<double>& a,
                    const std::vector<double>& b, const Setting& setting) {
  const Uncertain bound = widened(value, expected_variance, a, b, setting);
  if (setting.degrees() == 0) {
    return bound;
  }
  const auto degrees = static_cast<double>(setting.degrees());
  const double shrunk =
      (kPriorDegrees * expected_variance + degrees * seen_variance(a, b, setting)) /
      (kPriorDegrees + degrees);
  return surer(bound, {value, shrunk, kPriorDegrees + degrees});
}

double process_variance(const Estimate& row, const Setting& setting) {
  return setting.disturbance *
         (square(kProcessSpread) + square(row.spread_of_step / std::max(row.share, kLeast)));
}

Uncertain by_the_clock(const Estimate& row, double inflation, const Setting& setting) {
  return moderated(row.log_ratio, expected_variance(row, inflation, setting), row.logs_a,
                   row.logs_b, setting);
}

Uncertain with_machine(const Estimate& row, double spread_variance, const Setting& setting) {
  const double expected = expected_variance(row, 1, setting);
  const Uncertain bound =
      widened(row.log_ratio,
              expected + 4 * spread_variance +
                  setting.disturbance * square(kMachineSpread) * setting.of_difference(),
              row.logs_a, row.logs_b, setting);
  if (setting.degrees() == 0) {
    return bound;
  }
  // Several runs show the machine's noise themselves, but a few may agree by chance.
  constexpr std::size_t kManyDegrees = 4;
  const double least = setting.degrees() < kManyDegrees ? expected : row.sampling_variance();
  const double seen = seen_variance(row.logs_a, row.logs_b, setting);
  return surer(bound,
               {row.log_ratio, std::max(seen, least), static_cast<double>(setting.degrees())});
}

namespace {

using Key = std::tuple<RowKind, std::string, std::string>;

Key key_of(const Series& row) {
  // The class of an operator is not part of its key; the size of a collective is.
  return {row.kind, row.name, row.kind == RowKind::kCollective ? row.detail : std::string()};
}

}  // namespace

std::vector<PairedRow> pair_rows(const std::vector<Run>& a, const std::vector<Run>& b) {
  std::map<Key, PairedRow> pairs;
  const auto add = [&](const std::vector<Run>& runs, std::vector<const Series*> PairedRow::*side) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (const Series& row : runs[i].rows) {
        PairedRow& pair = pairs[key_of(row)];
        if (pair.a.empty()) {
          pair = {row.kind, row.name, row.detail, std::vector<const Series*>(a.size()),
                  std::vector<const Series*>(b.size())};
        }
        (pair.*side)[i] = &row;
      }
    }
  };
  add(a, &PairedRow::a);
  add(b, &PairedRow::b);
  return et_schema::values_of(std::move(pairs));
}

}  // namespace understudy::comparer
