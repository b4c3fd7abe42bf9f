#include "fleet/analysis/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "fleet/analysis/numerics.h"

namespace understudy::fleet {
namespace {

using Places = std::vector<std::size_t>;

constexpr double kFeatureScale = 0.1;  // a standard deviation counts as a tenth of the time
constexpr double kTotalScale = 1;      // value of the row that makes the weights add up to one
constexpr std::size_t kSubsetResamples = 200;

/// Of the known values; NaN if there are none.
double quantile(std::vector<double> values, double share) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::ranges::sort(values);
  return et_schema::percentile(values, share).value_or(std::nan(""));
}

/// The candidates as columns: share of time by class, features in standard deviations, and a
/// constant row that makes the weights add up to one.
class Fleet {
 public:
  Fleet(const std::vector<Candidate>& candidates, const std::vector<std::string>& choose_on)
      : candidates_(candidates) {
    double sum = 0;
    for (const Candidate& candidate : candidates) {
      sum += candidate.weight;
    }
    for (const Candidate& candidate : candidates) {
      weights_.push_back(candidate.weight / sum);
      columns_.emplace_back();
    }
    add_class_rows();
    for (const auto& feature : candidates.front().features) {
      add_feature_row([&](const Candidate& row) { return row.features.at(feature.first); });
    }
    add_ratio_rows(choose_on);
    for (std::vector<double>& column : columns_) {
      column.push_back(kTotalScale);
    }
  }

  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  [[nodiscard]] std::size_t size() const { return candidates_.size(); }

  [[nodiscard]] std::vector<double> total(const std::vector<double>& weights) const {
    std::vector<double> target(columns_.front().size(), 0.0);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      for (std::size_t row = 0; row < target.size(); ++row) {
        target[row] += weights[i] * columns_[i][row];
      }
    }
    return target;
  }

  [[nodiscard]] Columns of(const Places& places) const {
    Columns some;
    for (const std::size_t place : places) {
      some.push_back(columns_[place]);
    }
    return some;
  }

  /// Returns the weights with which the subset reproduces `target`; they add up to one.
  [[nodiscard]] std::vector<double> fit(const Places& places,
                                        const std::vector<double>& target) const {
    std::vector<double> weights = non_negative_least_squares(of(places), target);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) {
      weight = sum > 0 ? weight / sum : 1.0 / static_cast<double>(weights.size());
    }
    return weights;
  }

  /// Returns the total variation distance of time by class between subset and fleet.
  [[nodiscard]] double mix_distance(const Places& places,
                                    const std::vector<double>& weights) const {
    double sum = 0;
    for (std::size_t row = 0; row < class_rows_; ++row) {
      double difference = 0;
      for (std::size_t i = 0; i < places.size(); ++i) {
        difference += weights[i] * columns_[places[i]][row];
      }
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        difference -= weights_[i] * columns_[i][row];
      }
      sum += std::abs(difference);
    }
    return sum / 2;
  }

 private:
  void add_class_rows() {
    const std::set<std::string> names = names_in(candidates_, &Candidate::class_share);
    for (const std::string& name : names) {
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const auto found = candidates_[i].class_share.find(name);
        columns_[i].push_back(found == candidates_[i].class_share.end() ? 0.0 : found->second);
      }
    }
    class_rows_ = names.size();
  }

  template <typename Feature>
  void add_feature_row(Feature feature) {
    double mean = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      mean += weights_[i] * feature(candidates_[i]);
    }
    double variance = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      variance += weights_[i] * std::pow(feature(candidates_[i]) - mean, 2);
    }
    const double scale = variance > 0 ? kFeatureScale / std::sqrt(variance) : 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      columns_[i].push_back(scale * (feature(candidates_[i]) - mean));
    }
  }

  /// Adds the ratios of platforms whose times may be used: the subset must reproduce them.
  void add_ratio_rows(const std::vector<std::string>& choose_on) {
    for (std::size_t i = 1; i < choose_on.size(); ++i) {
      const auto has_both = [&](const Candidate& row) {
        return row.platform_ms.contains(choose_on[0]) && row.platform_ms.contains(choose_on[i]);
      };
      if (std::ranges::all_of(candidates_, has_both)) {
        add_feature_row([&](const Candidate& row) {
          return row.platform_ms.at(choose_on[i]) / row.platform_ms.at(choose_on[0]);
        });
      }
    }
  }

  const std::vector<Candidate>& candidates_;
  std::vector<double> weights_;
  Columns columns_;
  std::size_t class_rows_ = 0;
};

/// A subset, its weights, and its distance from the fleet.
struct Subset {
  Places places;
  std::vector<double> weights;
  double residual = std::numeric_limits<double>::infinity();
};

class Selector {
 public:
  Selector(const std::vector<Candidate>& candidates, const SelectionOptions& options)
      : candidates_(candidates),
        options_(options),
        fleet_(candidates, options.choose_on),
        target_(fleet_.total(fleet_.weights())) {}

  Selection select() {
    const Subset best = greedy();
    Selection selection;
    selection.mix_distance = fleet_.mix_distance(best.places, best.weights);
    selection.cost_s = cost_of(best.places);
    selection.error = error_of(best);
    selection.met_max_error = options_.max_error <= 0 || selection.error <= options_.max_error;
    add_jobs(selection, best);
    add_checks(selection, best);
    return selection;
  }

 private:
  [[nodiscard]] Subset subset_of(Places places) const {
    Subset subset;
    subset.weights = fleet_.fit(places, target_);
    subset.residual = residual_of(fleet_.of(places), subset.weights, target_);
    subset.places = std::move(places);
    return subset;
  }

  [[nodiscard]] double cost_of(const Places& places) const {
    double sum = 0;
    for (const std::size_t place : places) {
      sum += candidates_[place].cost_s;
    }
    return sum;
  }

  [[nodiscard]] bool is_affordable(const Places& places) const {
    const std::size_t most = options_.most_jobs == 0 ? fleet_.size() : options_.most_jobs;
    return places.size() <= most &&
           (options_.most_seconds <= 0 || cost_of(places) <= options_.most_seconds);
  }

  /// Adds the job that reduces the residual most, while the budget allows it and until the error is
  /// small enough.
  [[nodiscard]] Subset greedy() const {
    Subset now;
    while (now.places.size() < fleet_.size()) {
      Subset best;
      for (std::size_t place = 0; place < fleet_.size(); ++place) {
        Places places = now.places;
        places.push_back(place);
        if (std::ranges::find(now.places, place) != now.places.end() || !is_affordable(places)) {
          continue;
        }
        if (Subset tried = subset_of(std::move(places)); tried.residual < best.residual) {
          best = std::move(tried);
        }
      }
      if (best.places.empty()) {
        break;  // the budget allows no further job
      }
      now = std::move(best);
      if (options_.max_error > 0 && error_of(now) <= options_.max_error) {
        break;
      }
    }
    if (now.places.empty()) {
      throw et_schema::usage_error("no job fits the budget",
                                   {.field = "--budget", .hint = "give it more minutes"});
    }
    return now;
  }

  /// Returns the weighted ratio of two platforms over `places`; empty if one of these lacks a time.
  [[nodiscard]] std::optional<double> ratio_of(const Places& places,
                                               const std::vector<double>& weights,
                                               const std::string& platform,
                                               const std::string& baseline) const {
    double sum = 0;
    double all = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& times = candidates_[places[i]].platform_ms;
      const auto here = times.find(platform);
      const auto there = times.find(baseline);
      if (here == times.end() || there == times.end() || !(there->second > 0)) {
        return std::nullopt;
      }
      sum += weights[i] * here->second / there->second;
      all += weights[i];
    }
    return all > 0 ? std::optional(sum / all) : std::nullopt;
  }

  [[nodiscard]] Places all_places() const {
    Places all(fleet_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  [[nodiscard]] double ratio_error(const Subset& subset, const std::string& platform,
                                   const std::string& baseline) const {
    const auto whole = ratio_of(all_places(), fleet_.weights(), platform, baseline);
    const auto part = ratio_of(subset.places, subset.weights, platform, baseline);
    return whole && part ? std::abs(*part / *whole - 1) : std::nan("");
  }

  [[nodiscard]] double error_of(const Subset& subset) const {
    // This bounds the error of ratios that follow from classes: docs/metrics.md, "Fleet".
    double error = 2 * fleet_.mix_distance(subset.places, subset.weights);
    for (std::size_t i = 1; i < options_.choose_on.size(); ++i) {
      error = std::fmax(error, ratio_error(subset, options_.choose_on[i], options_.choose_on[0]));
    }
    return error;
  }

  /// Adds the jobs' weights with their intervals over resampled fleets.
  void add_jobs(Selection& selection, const Subset& subset) const {
    constexpr double kLow = 0.025;
    constexpr double kHigh = 0.975;
    Random random(options_.seed);
    std::vector<std::vector<double>> drawn(subset.places.size());
    for (std::size_t draw = 0; draw < kSubsetResamples; ++draw) {
      std::vector<double> weights(fleet_.size(), 0.0);
      double sum = 0;
      for (std::size_t i = 0; i < fleet_.size(); ++i) {
        const std::size_t place = random.below(fleet_.size());
        weights[place] += fleet_.weights()[place];
        sum += fleet_.weights()[place];
      }
      for (double& weight : weights) {
        weight /= sum;
      }
      const std::vector<double> fitted = fleet_.fit(subset.places, fleet_.total(weights));
      for (std::size_t i = 0; i < fitted.size(); ++i) {
        drawn[i].push_back(fitted[i]);
      }
    }
    for (std::size_t i = 0; i < subset.places.size(); ++i) {
      const Candidate& candidate = candidates_[subset.places[i]];
      selection.jobs.push_back({candidate.job, candidate.benchmark_hash, subset.weights[i],
                                quantile(drawn[i], kLow), quantile(drawn[i], kHigh)});
    }
    std::ranges::stable_sort(selection.jobs, std::ranges::greater(), &SelectedJob::weight);
  }

  [[nodiscard]] std::vector<Subset> random_subsets(std::size_t size) const {
    Random random(options_.seed);
    std::vector<Subset> subsets;
    for (std::size_t i = 0; i < options_.random_subsets; ++i) {
      Places all = all_places();
      for (std::size_t place = 0; place < size; ++place) {
        std::swap(all[place], all[place + random.below(all.size() - place)]);
      }
      all.resize(size);
      subsets.push_back(subset_of(std::move(all)));
    }
    return subsets;
  }

  void add_checks(Selection& selection, const Subset& subset) const {
    const std::vector<Subset> others = random_subsets(subset.places.size());
    constexpr double kHalf = 0.5;
    constexpr double kNinety = 0.9;
    std::vector<double> mixes;
    for (const Subset& other : others) {
      mixes.push_back(fleet_.mix_distance(other.places, other.weights));
    }
    selection.random_mix_distance = quantile(mixes, kHalf);
    const std::set<std::string> names = names_in(candidates_, &Candidate::platform_ms);
    const auto looked_at = [&](const std::string& name) {
      return std::ranges::find(options_.choose_on, name) != options_.choose_on.end();
    };
    const Places all = all_places();
    for (const std::string& baseline : names) {
      for (const std::string& platform : names) {
        const bool is_asked_for = options_.baseline.empty()
                                      ? platform > baseline
                                      : baseline == options_.baseline && platform != baseline;
        if (!is_asked_for) {
          continue;
        }
        const auto whole = ratio_of(all, fleet_.weights(), platform, baseline);
        const auto part = ratio_of(subset.places, subset.weights, platform, baseline);
        if (!whole || !part) {
          continue;
        }
        std::vector<double> errors;
        for (const Subset& other : others) {
          errors.push_back(ratio_error(other, platform, baseline));
        }
        selection.checks.push_back({platform, baseline, looked_at(platform) && looked_at(baseline),
                                    *whole, *part, std::abs(*part / *whole - 1),
                                    quantile(errors, kHalf), quantile(errors, kNinety)});
      }
    }
  }

  const std::vector<Candidate>& candidates_;
  const SelectionOptions& options_;
  Fleet fleet_;
  std::vector<double> target_;
};

}  // namespace

Selection select_jobs(const std::vector<Candidate>& candidates, const SelectionOptions& options) {
  double weight = 0;
  for (const Candidate& candidate : candidates) {
    weight += candidate.weight;
  }
  if (candidates.empty() || !(weight > 0)) {
    throw et_schema::usage_error(
        "there is nothing to select from",
        {.expected = "jobs with benchmarks and weights above 0",
         .got = fmt::format("{} jobs", candidates.size()),
         .hint = "add jobs (understudy fleet add); a night makes benchmarks"});
  }
  return Selector(candidates, options).select();
}

}  // namespace understudy::fleet
