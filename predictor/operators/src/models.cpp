#include "models.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/enum_names.h"

namespace understudy::predictor {
namespace {

constexpr et_schema::EnumNames<Candidate::kMean> kNames("roofline", "nearest", "two_clock",
                                                        "two_clock+trees", "transferred",
                                                        "transferred+trees", "mean");

double ln_bound(const Point& point) {
  return std::log(std::max(bound_ns(point), 1.0));
}

/// Returns the slope with least absolute deviations, by iteratively reweighted least squares.
double steepness(const std::vector<std::pair<double, double>>& points) {
  constexpr int kRounds = 20;
  constexpr double kLeastDeviation = 0.02;
  std::vector<double> weights(points.size(), 1.0);
  double slope = 0;
  for (int round = 0; round < kRounds; ++round) {
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto& [px, py] = points[i];
      w += weights[i];
      x += weights[i] * px;
      y += weights[i] * py;
      xx += weights[i] * px * px;
      xy += weights[i] * px * py;
    }
    const double spread = w * xx - x * x;
    if (spread <= 1e-9 * w * xx) {
      return 0;  // all sizes are equal
    }
    slope = (w * xy - x * y) / spread;
    const double offset = (y - slope * x) / w;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double deviation = std::abs(points[i].second - offset - slope * points[i].first);
      weights[i] = 1 / std::max(deviation, kLeastDeviation);
    }
  }
  return slope;
}

/// Adapts the trees to the rows: few cannot fill 300 trees of 64 leaves, many can fill larger ones.
TreeOptions fitting(TreeOptions options, std::size_t rows) {
  constexpr std::size_t kMany = 3000;
  if (rows >= kMany) {
    options.depth += 1;
    options.rate *= 0.85;
    options.rows_in_leaf /= 2;
  }
  constexpr std::size_t kFew = 300;
  constexpr std::size_t kVeryFew = 60;
  if (rows < kFew) {
    options.depth = std::min(options.depth, 4);
    options.rows_in_leaf = std::min(options.rows_in_leaf, 4.0);
    options.trees = std::min(options.trees, 200);
  }
  if (rows < kVeryFew) {
    options.depth = std::min(options.depth, 2);
    options.trees = std::min(options.trees, 60);
  }
  return options;
}

/// Adds trees fitted to the model's residuals.
void add_trees(const Samples& samples, const std::vector<double>& residuals,
               const TreeOptions& options, CallModel& model) {
  model.codes = codes_of(samples, residuals);
  model.trees = grow(samples, residuals, model.codes, options);
}

/// Returns the trend of the larger half's residuals; none for few samples.
Trend trend_of(const Samples& samples, const std::vector<double>& residuals) {
  constexpr std::size_t kFewest = 60;
  if (samples.size() < kFewest) {
    return {};
  }
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    points.emplace_back(ln_bound(samples[i]->point), residuals[i]);
  }
  std::ranges::stable_sort(points);
  points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(points.size() / 2));
  const double slope = steepness(points);
  return slope == 0 ? Trend() : Trend{slope, points.front().first};
}

CallModel fit_trees(const Samples& samples, const TreeOptions& options, bool carries_on) {
  CallModel model{.kind = Candidate::kTrees, .base = fit_two_clock(base_samples(samples))};
  std::vector<double> residuals = residuals_of(samples, model);
  model.trend = carries_on ? trend_of(samples, residuals) : Trend();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    residuals[i] -= model.trend(samples[i]->point);
  }
  add_trees(samples, residuals, options, model);
  return model;
}

double mean_error(const Samples& samples, const CallModel& model) {
  double sum = 0;
  for (const Sample* sample : samples) {
    sum += std::abs(model.ln_ns(sample->point) - sample->ln_ns);
  }
  return sum / static_cast<double>(samples.size());
}

/// Fits the base to the residuals of the shared trees, which are multiplied by `trust`.
CallModel with_trust(const Samples& samples, const std::shared_ptr<const SharedModel>& shared,
                     double trust) {
  constexpr double kPull = 0.05;
  std::vector<BaseSample> left = base_samples(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    left[i].ln_ns -= trust * shared->residual(samples[i]->point);
  }
  const TwoClock& around = shared->base_of(samples.front()->point);
  return {.kind = Candidate::kTransferred,
          .base = fit_two_clock(left, &around, kPull),
          .trust = trust,
          .shared = shared};
}

/// Returns the factor for the shared trees with the smallest error in cross-validation over
/// quarters. Returns 1 if there are fewer than two shapes per quarter.
double best_trust(const Samples& samples, const std::shared_ptr<const SharedModel>& shared) {
  constexpr std::size_t kQuarters = 4;
  if (folds_of(samples, 2 * kQuarters).size() < 2 * kQuarters) {
    return 1;
  }
  const std::vector<Samples> quarters = folds_of(samples, kQuarters);
  double best = 1;
  double least = 0;
  for (const double trust : {1.0, 1.4, 0.5}) {
    double error = 0;
    for (const Samples& quarter : quarters) {
      error += mean_error(quarter, with_trust(without(samples, quarter), shared, trust));
    }
    if (trust == 1 || error < least) {
      best = trust;
      least = error;
    }
  }
  return best;
}

CallModel fit_transferred(const Samples& samples, const std::shared_ptr<const SharedModel>& shared,
                          bool has_own_trees, const TreeOptions& options) {
  UNDERSTUDY_ASSERT(shared != nullptr);
  CallModel best = with_trust(samples, shared, best_trust(samples, shared));
  if (has_own_trees) {
    add_trees(samples, residuals_of(samples, best), options, best);
    best.kind = best.trees.size() > 0 ? Candidate::kTransferredTrees : Candidate::kTransferred;
  }
  return best;
}

}  // namespace

std::string_view to_string(Candidate candidate) {
  return kNames[candidate];
}

std::optional<Candidate> candidate_from_string(std::string_view name) {
  return kNames.find(name);
}

bool is_transferred(Candidate candidate) {
  return candidate == Candidate::kTransferred || candidate == Candidate::kTransferredTrees;
}

OperatorCodes codes_of(const Samples& samples, const std::vector<double>& residuals) {
  constexpr double kPrior = 5;  // pseudo-rows that shrink an operator's code to 0
  std::map<std::string, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto& [sum, count] = sums[samples[i]->point.op];
    sum += residuals[i];
    count += 1;
  }
  OperatorCodes codes;
  for (const auto& [op, sum] : sums) {
    codes[op] = static_cast<float>(sum.first / (sum.second + kPrior));
  }
  return codes;
}

std::vector<BaseSample> base_samples(const Samples& samples) {
  std::vector<BaseSample> all;
  all.reserve(samples.size());
  for (const Sample* sample : samples) {
    const KernelLoad& kernels = sample->point.kernels;
    all.push_back({kernels.compute_ns, kernels.memory_ns, sample->ln_ns});
  }
  return all;
}

double roofline_ln(const TwoClock& roofline, const Point& point) {
  return std::log(roofline_ns(roofline, point.compute_ns, point.memory_ns));
}

TwoClock roofline_of(const Samples& samples) {
  std::vector<BaseSample> all;
  all.reserve(samples.size());
  for (const Sample* sample : samples) {
    all.push_back({sample->point.compute_ns, sample->point.memory_ns, sample->ln_ns});
  }
  return fit_roofline(all);
}

Features tree_features(const Point& point, const OperatorCodes& codes) {
  Features x = point.x;
  const auto code = codes.find(point.op);
  x[kOperatorFeature] = code == codes.end() ? 0 : code->second;
  std::fill(x.begin() + kFirstCardFeature, x.end(), 0.0F);
  return x;
}

Trees grow(const Samples& samples, const std::vector<double>& residuals, const OperatorCodes& codes,
           TreeOptions options) {
  std::vector<float> rows;
  rows.reserve(samples.size() * kFeatures);
  for (const Sample* sample : samples) {
    const Features x = tree_features(sample->point, codes);
    rows.insert(rows.end(), x.begin(), x.end());
  }
  const std::vector<float> target(residuals.begin(), residuals.end());
  return grow_trees(rows, kFeatures, target, fitting(options, samples.size()));
}

std::vector<double> residuals_of(const Samples& samples, const CallModel& model) {
  std::vector<double> residuals;
  residuals.reserve(samples.size());
  for (const Sample* sample : samples) {
    residuals.push_back(sample->ln_ns - model.ln_ns(sample->point));
  }
  return residuals;
}

double CallModel::ln_ns(const Point& point) const {
  if (kind == Candidate::kMean) {
    return (of[0].ln_ns(point) + of[1].ln_ns(point)) / 2;
  }
  if (kind == Candidate::kRoofline || kind == Candidate::kNearest) {
    return roofline_ln(base, point) + nearest_residual(neighbours, point);
  }
  const double common = shared ? trust * shared->residual(point) : trend(point);
  const double known = base_ln(base, point) + common;
  return trees.size() == 0 ? known : known + trees(tree_features(point, codes));
}

const TwoClock* CallModel::host_base() const {
  if (kind == Candidate::kMean) {
    return of[0].host_base();
  }
  return kind == Candidate::kRoofline || kind == Candidate::kNearest ? nullptr : &base;
}

double Trend::operator()(const Point& point) const {
  return slope * std::max(0.0, ln_bound(point) - knee);
}

CallModel fit_beyond(Candidate candidate, const Samples& samples,
                     const std::shared_ptr<const SharedModel>& shared, const TreeOptions& options) {
  return candidate == Candidate::kTrees ? fit_trees(samples, options, true)
                                        : fit_model(candidate, samples, shared, options);
}

CallModel fit_model(Candidate candidate, const Samples& samples,
                    const std::shared_ptr<const SharedModel>& shared, const TreeOptions& options) {
  UNDERSTUDY_ASSERT(!samples.empty());
  switch (candidate) {
    case Candidate::kRoofline:
      return {.kind = candidate, .base = roofline_of(samples)};
    case Candidate::kNearest:
      return fit_nearest(samples);
    case Candidate::kTwoClock:
      return {.kind = candidate, .base = fit_two_clock(base_samples(samples))};
    case Candidate::kTrees:
      return fit_trees(samples, options, false);
    case Candidate::kTransferred:
    case Candidate::kTransferredTrees:
      return fit_transferred(samples, shared, candidate == Candidate::kTransferredTrees, options);
    case Candidate::kMean:
      break;
  }
  return {
      .kind = Candidate::kMean,
      .of = {fit_transferred(samples, shared, true, options), fit_trees(samples, options, false)}};
}

}  // namespace understudy::predictor
