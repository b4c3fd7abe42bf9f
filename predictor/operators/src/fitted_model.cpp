#include "predictor/operators/fitted_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "et_schema/base/assert.h"
#include "models.h"

namespace understudy::predictor {
namespace {

constexpr double kTolerance = 0.2;  // ln: up to 20 % outside counts as inside
constexpr double kBlockedFactor = 1.5;
constexpr std::size_t kFewest = 40;  // minimum rows to hold out the largest tenth

std::array<float, kSizes + 1> place_of(const Point& point) {
  std::array<float, kSizes + 1> place{};
  place[0] = static_cast<float>(std::log(std::max(bound_ns(point), 1e-6)));
  std::copy_n(point.x.begin() + kFirstSize, kSizes, place.begin() + 1);
  return place;
}

struct Trial {
  Candidate candidate;
  std::vector<double> residuals;
};

/// Returns the errors of predictions, which are clipped to the minimum time of a call.
std::vector<double> misses_of(const Samples& samples, const FitOptions& options,
                              const std::function<double(const Point&)>& ln_ns) {
  const double least =
      options.least_ns > 0 ? std::log(options.least_ns) : -std::numeric_limits<double>::infinity();
  std::vector<double> misses;
  misses.reserve(samples.size());
  for (const Sample* sample : samples) {
    misses.push_back(sample->ln_ns - std::max(ln_ns(sample->point), least));
  }
  return misses;
}

Trial cross_validate(Candidate candidate, const Samples& samples, const std::vector<Samples>& folds,
                     const FitOptions& options) {
  Trial trial{candidate, {}};
  for (const Samples& fold : folds) {
    const CallModel model =
        fit_model(candidate, without(samples, fold), options.shared, options.trees);
    const std::vector<double> residuals =
        misses_of(fold, options, [&](const Point& point) { return model.ln_ns(point); });
    trial.residuals.insert(trial.residuals.end(), residuals.begin(), residuals.end());
  }
  return trial;
}

std::vector<Candidate> candidates_for(const Samples& samples, std::size_t shapes,
                                      const FitOptions& options) {
  std::vector<Candidate> candidates;
  constexpr std::size_t kFewestForTrees = 25;
  if (shapes < 2) {
    // With only one shape, candidates cannot be compared.
    return {options.shared ? Candidate::kTransferred : Candidate::kTwoClock};
  }
  for (const Candidate candidate : options.candidates) {
    const bool needs_rows = candidate != Candidate::kRoofline && candidate != Candidate::kTwoClock;
    if (!needs_rows || samples.size() >= kFewestForTrees) {
      candidates.push_back(candidate);
    }
  }
  if (options.shared) {
    candidates.push_back(Candidate::kTransferred);
    if (samples.size() >= kFewestForTrees / 2) {
      candidates.push_back(Candidate::kTransferredTrees);
    }
    if (samples.size() >= kFewestForTrees) {
      candidates.push_back(Candidate::kMean);
    }
  }
  if (candidates.empty()) {
    candidates.push_back(Candidate::kTwoClock);
  }
  return candidates;
}

CallModel fit_larger_half(Candidate candidate, const Samples& by_size, const FitOptions& options) {
  const auto half = static_cast<std::ptrdiff_t>(by_size.size() / 2);
  TreeOptions trees = options.trees;  // a smaller forest, because it is fitted to half the rows
  trees.trees /= 2;
  trees.rate *= 2;
  return fit_beyond(candidate, Samples(by_size.begin() + half, by_size.end()), options.shared,
                    trees);
}

/// Returns the width of errors on the largest tenth, predicted by a fit to the rest.
double blocked_width(Candidate candidate, const Samples& by_size, const FitOptions& options) {
  const auto cut = static_cast<std::ptrdiff_t>(by_size.size() - by_size.size() / 10);
  const Samples known(by_size.begin(), by_size.begin() + cut);
  const Samples asked(by_size.begin() + cut, by_size.end());
  const CallModel whole = fit_model(candidate, known, options.shared, options.trees);
  const CallModel half = fit_larger_half(candidate, known, options);
  std::vector<double> misses = misses_of(asked, options, [&](const Point& point) {
    return (whole.ln_ns(point) + half.ln_ns(point)) / 2;
  });
  return kBlockedFactor * conformal_width(std::move(misses));
}

/// With one shape the error on others is unknown: assume a factor of e.
constexpr double kUnknownWidth = 1;
/// Minimum width, even if few rows suggest less: no measurement repeats better.
constexpr double kLeastWidth = 0.01;
/// Minimum width for extrapolation.
constexpr double kLeastWidthBeyond = 0.3;

/// Prefers transferred models. Few rows of one size cannot show how an own model extrapolates, so
/// it must be clearly better than the models of other cards.
void prefer_transferred(std::vector<Trial>& trials, std::size_t rows) {
  constexpr double kClearly = 0.8;
  constexpr double kClearlyShare = 0.01;
  const auto transferred = std::ranges::find_if(trials, [](const Trial& trial) {
    return is_transferred(trial.candidate) || trial.candidate == Candidate::kMean;
  });
  if (rows >= kFewest || transferred == trials.end()) {
    return;
  }
  const double own = errors_of(trials.front().residuals).mean;
  const double others = errors_of(transferred->residuals).mean;
  if (own > kClearly * others || own > others - kClearlyShare) {
    std::rotate(trials.begin(), transferred, transferred + 1);
  }
}

void set_widths(const Samples& samples, const Trial* best, const FitOptions& options,
                FittedModel& fitted) {
  const bool is_known = best != nullptr && !best->residuals.empty();
  fitted.width = is_known ? std::max(conformal_width(best->residuals), kLeastWidth) : kUnknownWidth;
  const Candidate chosen = fitted.candidates.front().candidate;
  if (samples.size() < kFewest) {
    fitted.width_beyond = std::max(2 * fitted.width, kLeastWidthBeyond);
    return;
  }
  Samples by_size = samples;
  std::ranges::stable_sort(by_size, {},
                           [](const Sample* sample) { return bound_ns(sample->point); });
  fitted.beyond = fit_larger_half(chosen, by_size, options);
  fitted.width_beyond = std::max(fitted.width, blocked_width(chosen, by_size, options));
}

}  // namespace

Samples without(const Samples& samples, const Samples& left_out) {
  const std::set<const Sample*> gone(left_out.begin(), left_out.end());
  Samples kept;
  std::ranges::copy_if(samples, std::back_inserter(kept),
                       [&](const Sample* sample) { return !gone.contains(sample); });
  return kept;
}

std::vector<Samples> folds_of(const Samples& samples, std::size_t count) {
  std::set<std::uint64_t> shapes;
  for (const Sample* sample : samples) {
    shapes.insert(sample->point.shape);
  }
  const std::size_t folds = std::min(count, shapes.size());
  std::vector<Samples> all(folds);
  for (const Sample* sample : samples) {
    const auto rank =
        static_cast<std::size_t>(std::distance(shapes.begin(), shapes.find(sample->point.shape)));
    all[rank % folds].push_back(sample);
  }
  return all;
}

std::vector<std::string> operators_of(const Samples& samples) {
  std::set<std::string> names;
  for (const Sample* sample : samples) {
    names.insert(sample->point.op);
  }
  return {names.begin(), names.end()};
}

double conformal_width(std::vector<double> residuals) {
  UNDERSTUDY_ASSERT(!residuals.empty());
  constexpr double kShare = 0.9;
  constexpr double kOfTooFew = 1.5;
  for (double& residual : residuals) {
    residual = std::abs(residual);
  }
  return conformal_quantile(std::move(residuals), kShare, kOfTooFew);
}

Range Range::of(const Samples& samples) {
  UNDERSTUDY_ASSERT(!samples.empty());
  Range range;
  range.low = range.high = place_of(samples.front()->point);
  for (const Sample* sample : samples) {
    const auto place = place_of(sample->point);
    for (std::size_t i = 0; i < place.size(); ++i) {
      range.low[i] = std::min(range.low[i], place[i]);
      range.high[i] = std::max(range.high[i], place[i]);
    }
  }
  return range;
}

bool Range::excludes(const Point& point) const {
  const auto place = place_of(point);
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (static_cast<double>(place[i]) > static_cast<double>(high[i]) + kTolerance ||
        static_cast<double>(place[i]) < static_cast<double>(low[i]) - kTolerance) {
      return true;
    }
  }
  return false;
}

bool Range::is_above(const Point& point) const {
  return place_of(point)[0] > high[0];
}

double Range::ln_outside(const Point& point) const {
  const double bound = place_of(point)[0];
  return std::max({0.0, bound - static_cast<double>(high[0]), static_cast<double>(low[0]) - bound});
}

double FittedModel::width_at(const Point& point) const {
  constexpr double kTenTimes = 2.302585;
  return range.excludes(point) ? width_beyond * std::max(1.0, range.ln_outside(point) / kTenTimes)
                               : width;
}

double FittedModel::ln_ns(const Point& point) const {
  const double own = model.ln_ns(point);
  return beyond && range.is_above(point) ? (own + beyond->ln_ns(point)) / 2 : own;
}

FittedModel fit_best(const Samples& samples, const FitOptions& options) {
  UNDERSTUDY_ASSERT(!samples.empty());
  const std::vector<Samples> folds = folds_of(samples, options.folds);
  std::vector<Trial> trials;
  for (const Candidate candidate : candidates_for(samples, folds.size(), options)) {
    trials.push_back(folds.size() < 2 ? Trial{candidate, {}}
                                      : cross_validate(candidate, samples, folds, options));
  }
  FittedModel fitted;
  const auto mean_error = [](const Trial& trial) { return errors_of(trial.residuals).mean; };
  std::ranges::stable_sort(trials, {}, mean_error);
  prefer_transferred(trials, samples.size());
  for (const Trial& trial : trials) {
    fitted.candidates.push_back({trial.candidate, errors_of(trial.residuals)});
  }
  fitted.model = fit_model(trials.front().candidate, samples, options.shared, options.trees);
  fitted.range = Range::of(samples);
  fitted.rows = samples.size();
  fitted.operators = operators_of(samples);
  set_widths(samples, folds.size() < 2 ? nullptr : &trials.front(), options, fitted);
  return fitted;
}

}  // namespace understudy::predictor
