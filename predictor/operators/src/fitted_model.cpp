#include "predictor/operators/fitted_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "et_schema/base/assert.h"

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
                              const CallModel& model) {
  const double least = std::log(options.least_ns);
  std::vector<double> misses;
  misses.reserve(samples.size());
  for (const Sample* sample : samples) {
    misses.push_back(sample->ln_ns - std::max(model.ln_ns(*sample), least));
  }
  return misses;
}

Samples without(const Samples& samples, const Samples& left_out) {
  const std::set<const Sample*> gone(left_out.begin(), left_out.end());
  Samples kept;
  std::ranges::copy_if(samples, std::back_inserter(kept),
                       [&](const Sample* sample) { return !gone.contains(sample); });
  return kept;
}

/// Divides samples into folds of equal size. Samples of equal shape are in one fold.
std::vector<Samples> folds_of(const Samples& samples, std::size_t count) {
  std::set<std::uint64_t> shapes;
  for (const Sample* sample : samples) {
    shapes.insert(sample->shape);
  }
  const std::size_t folds = std::min(count, shapes.size());
  std::vector<Samples> all(folds);
  for (const Sample* sample : samples) {
    const auto rank =
        static_cast<std::size_t>(std::distance(shapes.begin(), shapes.find(sample->shape)));
    all[rank % folds].push_back(sample);
  }
  return all;
}

Trial cross_validate(Candidate candidate, const Samples& samples, const std::vector<Samples>& folds,
                     const FitOptions& options) {
  Trial trial{candidate, {}};
  for (const Samples& fold : folds) {
    const CallModel model = fit_model(candidate, without(samples, fold), options.trees);
    const std::vector<double> residuals = misses_of(fold, options, model);
    trial.residuals.insert(trial.residuals.end(), residuals.begin(), residuals.end());
  }
  return trial;
}

/// Returns the candidates that the samples can tell apart, the safest first.
std::vector<Candidate> candidates_for(const Samples& samples, std::size_t shapes) {
  constexpr std::size_t kFewestForTrees = 25;
  const bool know_others =
      std::ranges::all_of(samples, [](const Sample* sample) { return sample->leaned.has_value(); });
  std::vector<Candidate> candidates;
  if (know_others) {
    candidates.push_back(Candidate::kOtherCards);
  }
  if (shapes < 2) {
    return know_others ? candidates : std::vector{Candidate::kTwoClock};
  }
  candidates.push_back(Candidate::kTwoClock);
  if (samples.size() >= kFewestForTrees) {
    candidates.push_back(Candidate::kTrees);
  }
  return candidates;
}

/// Returns the width of errors on the largest tenth, predicted by a fit to the rest.
double blocked_width(Candidate candidate, Samples samples, const FitOptions& options) {
  std::ranges::stable_sort(samples, {},
                           [](const Sample* sample) { return bound_ns(sample->point); });
  const auto cut = static_cast<std::ptrdiff_t>(samples.size() - samples.size() / 10);
  const Samples known(samples.begin(), samples.begin() + cut);
  const Samples asked(samples.begin() + cut, samples.end());
  return kBlockedFactor *
         conformal_width(misses_of(asked, options, fit_model(candidate, known, options.trees)),
                         kOfTooFew);
}

/// With one shape the error on others is unknown: assume a factor of e.
constexpr double kUnknownWidth = 1;
/// Minimum width, even if few rows suggest less: no measurement repeats better.
constexpr double kLeastWidth = 0.01;
/// Minimum width for extrapolation.
constexpr double kLeastWidthBeyond = 0.3;

/// Puts the best trial first. Few rows of one size cannot show how an own model extrapolates, so it
/// must be clearly better than what other cards say.
void choose(std::vector<Trial>& trials, std::size_t rows) {
  constexpr double kClearly = 0.8;
  const auto handicapped = [&](const Trial& trial) {
    const bool is_safe = rows >= kFewest || trial.candidate == Candidate::kOtherCards;
    return errors_of(trial.residuals).mean / (is_safe ? 1 : kClearly);
  };
  std::ranges::stable_sort(trials, {}, handicapped);
}

void set_widths(const Samples& samples, const Trial* best, const FitOptions& options,
                FittedModel& fitted) {
  const bool is_known = best != nullptr && !best->residuals.empty();
  const double unknown =
      fitted.model.kind == Candidate::kOtherCards ? samples.front()->leaned->width : kUnknownWidth;
  fitted.width =
      is_known ? std::max(conformal_width(best->residuals, kOfTooFew), kLeastWidth) : unknown;
  fitted.width_beyond =
      samples.size() < kFewest
          ? std::max(2 * fitted.width, kLeastWidthBeyond)
          : std::max(fitted.width, blocked_width(fitted.model.kind, samples, options));
}

std::vector<std::string> operators_of(const Samples& samples) {
  std::set<std::string> names;
  for (const Sample* sample : samples) {
    names.insert(sample->point.op);
  }
  return {names.begin(), names.end()};
}

}  // namespace

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

double Range::ln_beyond(const Point& point) const {
  const float bound = place_of(point)[0];
  return static_cast<double>(bound) - static_cast<double>(std::clamp(bound, low[0], high[0]));
}

double FittedModel::ln_ns(const Point& point, TimedAs timed, const Leaned* leaned) const {
  const double ln = model.ln_ns(point, leaned);
  const bool tells = rows > 0 && leaned == nullptr && timed == TimedAs::kDevice;
  const double beyond = tells ? range.ln_beyond(point) : 0;
  if (beyond == 0) {
    return ln;
  }
  // More work than any row's comes at the shares of the peaks that large kernels reach.
  constexpr TwoClock kLarge = {0, 0, 0.6, 0.9};
  const KernelLoad& load = point.kernels;
  const double to_range = std::exp(-beyond);
  const double in_range =
      std::exp(ln) * base_ns(model.base, to_range * load.compute_ns, to_range * load.memory_ns) /
      base_ns(model.base, load.compute_ns, load.memory_ns);
  const double ns =
      beyond > 0 ? in_range + (1 - to_range) * kernel_ns(kLarge, load.compute_ns, load.memory_ns)
                 : kLaunchNs + std::max(in_range - kLaunchNs, 0.0) / to_range;
  return std::min(ln, std::log(ns));
}

double FittedModel::width_at(const Point& point, const Leaned* leaned) const {
  constexpr double kTenTimes = 2.302585;
  constexpr std::size_t kFewCalls = 10;  // too few for a quantile of their errors
  if (leaned != nullptr) {
    const bool tells = rows >= kFewCalls && !leaned->is_extrapolated;
    return tells ? width : std::max(width, leaned->width);
  }
  return range.excludes(point)
             ? width_beyond * std::max(1.0, std::abs(range.ln_beyond(point)) / kTenTimes)
             : width;
}

FittedModel fit_best(const Samples& samples, const FitOptions& options) {
  UNDERSTUDY_ASSERT(!samples.empty());
  const std::vector<Samples> folds = folds_of(samples, options.folds);
  std::vector<Trial> trials;
  for (const Candidate candidate : candidates_for(samples, folds.size())) {
    trials.push_back(folds.size() < 2 ? Trial{candidate, {}}
                                      : cross_validate(candidate, samples, folds, options));
  }
  choose(trials, samples.size());
  FittedModel fitted;
  fitted.errors = errors_of(trials.front().residuals);
  fitted.model = fit_model(trials.front().candidate, samples, options.trees);
  fitted.range = Range::of(samples);
  fitted.rows = samples.size();
  fitted.operators = operators_of(samples);
  set_widths(samples, folds.size() < 2 ? nullptr : &trials.front(), options, fitted);
  return fitted;
}

}  // namespace understudy::predictor
