#include "predictor/collectives/series.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/interval.h"
#include "predictor/fitting/interpolation.h"

namespace understudy::predictor {
namespace {

// Chosen on NCCL's tables of five cards (docs/results/prediction.md, "Collectives").
constexpr double kLeastWidth = 0.01;    ///< minimum difference of two sweeps on one machine
constexpr double kLeastLatency = 0.03;  ///< minimum share of the shortest time that is latency
constexpr double kMisfit = 0.05;        ///< usual relative error of a base at a measured size
constexpr double kRatioWidth = 3;       ///< width, in ln, of what is known of latency to bytes
constexpr double kUsualRamp = 0.5;      ///< root of ramp_ns / latency_ns
constexpr double kRampDoubt = 0.04;     ///< weight of the usual ramp
constexpr double kGrowthMisfit = 0.03;  ///< usual relative error of a latency's growth; its terms
                                        ///< are known within a factor of e
constexpr ErrorSteps kAssumedSizes = {.between = 0.15, .beyond = 0.5};
constexpr ErrorSteps kAssumedRanks = {.between = 0.3, .beyond = 0.4};
constexpr double kOfGrowth = 0.3;       ///< minimum of kAssumedRanks, as a share of the growth
constexpr double kUnknownGrowth = 1.2;  ///< kAssumedRanks.beyond of a table of one number of ranks

double ln_size(double bytes) {
  return std::log(std::max(bytes, 1.0));
}

/// A size on one number of ranks; equal rows are merged.
struct Point {
  double bytes = 0;
  double ns = 0;  ///< geometric mean
  double spread = 0;
  double rows = 0;
};
using Sweep = std::vector<Point>;

std::map<int, Sweep> sweeps_of(std::vector<CollectiveRow> rows) {
  std::ranges::stable_sort(rows, {}, &CollectiveRow::bytes);
  std::map<int, Sweep> sweeps;
  for (const CollectiveRow& row : rows) {
    Sweep& sweep = sweeps[row.ranks];
    const auto bytes = static_cast<double>(row.bytes);
    if (sweep.empty() || sweep.back().bytes != bytes) {
      sweep.push_back({bytes, row.median_ns});
    }
    Point& point = sweep.back();
    point.ns *= std::pow(row.median_ns / point.ns, 1 / ++point.rows);
    point.spread = std::max(point.spread, row.spread_ns / row.median_ns);
  }
  return sweeps;
}

/// NCCL passes from protocols of low latency to those of full bandwidth (LL, LL128, simple), and to
/// more channels. The least of such lines is near a line with a root.
double time_ns(const Base& base, CommKind kind, double bytes, int ranks) {
  const double sent_ns = base.ns_per_byte * link_bytes(kind, bytes, ranks);
  return base.latency_ns + sent_ns + 2 * std::sqrt(base.ramp_ns * sent_ns);
}

double latency_ns(const SeriesKey& key, const Growth& growth, int ranks) {
  const double on_node = key.ranks_per_node > 0 ? key.ranks_per_node : key.on_device ? ranks : 1;
  return growth.call_ns +
         growth.step_ns * steps_of(key.kind, ranks, ranks / on_node, growth.tree_step);
}

/// The candidate of least cost.
template <class Candidate>
struct Least {
  Candidate best = {};
  double cost = std::numeric_limits<double>::infinity();

  void offer(const Candidate& candidate, double its_cost) {
    if (its_cost < cost) {
      best = candidate;
      cost = its_cost;
    }
  }
};

/// Fits the factor of a shape, of whose points these are the ratios to what was measured. Returns
/// it and the squares of the relative errors that it leaves.
std::pair<double, double> fit_factor(const std::vector<double>& ratios) {
  const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
  const double squares = std::inner_product(ratios.begin(), ratios.end(), ratios.begin(), 0.0);
  return {sum / squares, static_cast<double>(ratios.size()) - sum * sum / squares};
}

constexpr int kShifts = 8;  ///< candidates of a shape a unit of ln

/// Fits the ratio of latency to bytes, and a scale.
Base fit_base(const SeriesKey& key, int ranks, double ramp, std::span<const Point> sweep) {
  constexpr int kFarthest = 12 * kShifts;
  const double assumed_ns = latency_ns(key, Growth(), ranks);
  const double least_ns = kLeastLatency * std::ranges::min(sweep, {}, &Point::ns).ns;
  Least<Base> fitted;
  std::vector<double> ratios(sweep.size());
  for (int shift = -kFarthest; shift <= kFarthest; ++shift) {
    const double from_assumed = static_cast<double>(shift) / kShifts;
    const double latency = assumed_ns * std::exp(from_assumed);
    const Base base{latency, kAssumedNsPerByte, ramp * ramp * latency};
    std::ranges::transform(sweep, ratios.begin(), [&](const Point& point) {
      return time_ns(base, key.kind, point.bytes, ranks) / point.ns;
    });
    const auto [factor, errors] = fit_factor(ratios);
    if (factor * latency >= least_ns || shift == kFarthest) {
      fitted.offer({factor * latency, factor * base.ns_per_byte, factor * base.ramp_ns},
                   errors / std::pow(kMisfit, 2) + std::pow(from_assumed / kRatioWidth, 2));
    }
  }
  return fitted.best;
}

SizeCurve curve_of(const SeriesKey& key, int ranks, double ramp, std::span<const Point> sweep) {
  SizeCurve curve{ranks, fit_base(key, ranks, ramp, sweep), {}, {}, {}};
  for (const Point& point : sweep) {
    curve.ln_bytes.push_back(ln_size(point.bytes));
    curve.efficiency.push_back(time_ns(curve.base, key.kind, point.bytes, ranks) / point.ns);
    curve.spread.push_back(point.spread);
  }
  return curve;
}

/// Fits the terms of the growth to the curves' latencies. The fewer there are, the more it is
/// NCCL's.
Growth fit_growth(const SeriesKey& key, const std::vector<SizeCurve>& curves) {
  constexpr int kFarthest = 4 * kShifts;
  Least<Growth> fitted;
  std::vector<double> ratios(curves.size());
  for (int tree = -kFarthest; tree <= kFarthest; ++tree) {
    for (int call = -kFarthest; call <= kFarthest; ++call) {
      const Growth growth{kAssumedCallNs * std::exp(static_cast<double>(call) / kShifts),
                          kAssumedStepNs,
                          kTreeStep * std::exp(static_cast<double>(tree) / kShifts)};
      std::ranges::transform(curves, ratios.begin(), [&](const SizeCurve& curve) {
        return latency_ns(key, growth, curve.ranks) / curve.base.latency_ns;
      });
      const auto [factor, errors] = fit_factor(ratios);
      const double cost =
          errors / std::pow(kGrowthMisfit, 2) + (call * call + tree * tree) / std::pow(kShifts, 2);
      fitted.offer({factor * growth.call_ns, factor * growth.step_ns, growth.tree_step}, cost);
    }
  }
  return fitted.best;
}

/// Returns half the 90 % interval, in ln, between two measurements or beyond the last one.
double width_at(const ErrorSteps& steps, const Place& place) {
  return place.outside > 0 ? steps.beyond * place.outside : steps.between * walk_deviation(place);
}

/// Returns the place of a number of ranks among the curves.
Place place_of(const std::vector<SizeCurve>& curves, int ranks) {
  std::vector<double> ln_ranks;
  for (const SizeCurve& curve : curves) {
    ln_ranks.push_back(std::log(curve.ranks));
  }
  return find_place(ln_ranks, std::log(ranks));
}

/// Returns the power of n with which the time of a byte grows. More ranks make nothing faster;
/// links that ranks share through a host took 5.8 times as long on twice the ranks. Nodes have
/// their own.
double power_of_bytes(const Series& series) {
  const SizeCurve& first = series.curves.front();
  const SizeCurve& last = series.curves.back();
  if (series.key.ranks_per_node > 0 || first.ranks == last.ranks) {
    return 0;
  }
  const double ratio = static_cast<double>(last.ranks) / first.ranks;
  const double growth = last.base.ns_per_byte / first.base.ns_per_byte;
  return std::clamp(std::log(growth) / std::log(ratio), 0.0, 3.0);
}

/// What a curve says of a size on another number of ranks.
struct CurveAnswer {
  double ln_ns = 0;
  double width = 0;  ///< |ln|, 90 %
  bool is_beyond = false;
};

CurveAnswer answer(const Series& series, const SizeCurve& curve, double bytes, int ranks,
                   int on_node) {
  const double longer = latency_ns(series.key, series.growth, ranks) /
                        latency_ns(series.key, series.growth, curve.ranks);
  const double more = static_cast<double>(on_node > 0 ? on_node : ranks) / curve.ranks;
  Base base = curve.base;
  base.latency_ns *= longer;
  base.ns_per_byte *= std::pow(more, power_of_bytes(series));
  base.ramp_ns *= std::sqrt(longer);
  const Place place = find_place(curve.ln_bytes, ln_size(bytes));
  const double width = et_schema::root_sum_square(
      et_schema::root_sum_square(width_at(series.sizes, place), curve.spread[place.below]),
      kLeastWidth);
  const double ns =
      time_ns(base, series.key.kind, bytes, ranks) / interpolate(curve.efficiency, place);
  return {std::log(ns), width, place.outside > 0};
}

/// Errors of points that were left out.
struct LeftOut {
  std::vector<double> between, beyond;  ///< |ln error| per unit of ErrorSteps
  std::vector<double> residuals;
};

/// Adds the errors of points if `known` predicts them: by sizes on known ranks, else by ranks.
void leave_out(const Series& known, int ranks, const Sweep& lost, LeftOut& out) {
  for (const Point& point : lost) {
    Place place = place_of(known.curves, ranks);
    if (place.outside == 0 && place.share == 0) {
      place = find_place(known.curves[place.below].ln_bytes, ln_size(point.bytes));
    }
    out.residuals.push_back(-std::log(estimate(known, point.bytes, ranks).ns / point.ns));
    (place.outside > 0 ? out.beyond : out.between)
        .push_back(std::abs(out.residuals.back()) / width_at({1, 1}, place));
  }
}

/// Leaves out `count` sizes from `first` on.
void leave_out_sizes(const SeriesKey& key, int ranks, double ramp, Sweep kept, std::size_t first,
                     std::size_t count, LeftOut& out) {
  const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  const Sweep lost(begin, end);
  kept.erase(begin, end);
  leave_out({key, {curve_of(key, ranks, ramp, kept)}}, ranks, lost, out);
}

/// Leaves out each inner number of ranks, and all beyond the second or a later one.
void leave_out_ranks(const Series& series, const std::map<int, Sweep>& sweeps, LeftOut& out) {
  const auto& curves = series.curves;
  for (auto at = curves.begin() + 1; at < curves.end(); ++at) {
    Series known{series.key, {curves.begin(), at}};
    known.growth = fit_growth(known.key, known.curves);
    for (auto later = at; known.curves.size() > 1 && later != curves.end(); ++later) {
      leave_out(known, later->ranks, sweeps.at(later->ranks), out);
    }
    if (at + 1 != curves.end()) {
      known.curves.insert(known.curves.end(), at + 1, curves.end());
      known.growth = fit_growth(known.key, known.curves);
      leave_out(known, at->ranks, sweeps.at(at->ranks), out);
    }
  }
}

double quantile_or(const std::vector<double>& errors, double assumed) {
  return errors.empty() ? assumed : conformal_width(errors);
}

/// Returns the ramp that tells best the two sizes at either end from the others, and its errors.
std::pair<double, LeftOut> fit_ramp(const SeriesKey& key, const std::map<int, Sweep>& sweeps) {
  constexpr std::size_t kLeast = 5;
  Least<std::pair<double, LeftOut>> fitted;
  for (const double ramp : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    LeftOut ends;
    for (const auto& [n, sweep] : sweeps) {
      if (sweep.size() >= kLeast) {
        leave_out_sizes(key, n, ramp, sweep, 0, 2, ends);
        leave_out_sizes(key, n, ramp, sweep, sweep.size() - 2, 2, ends);
      }
    }
    const double sum = std::accumulate(ends.beyond.begin(), ends.beyond.end(), 0.0);
    const double count = std::max(1.0, static_cast<double>(ends.beyond.size()));
    fitted.offer({ramp, ends}, sum / count + kRampDoubt * std::abs(ramp - kUsualRamp));
  }
  return fitted.best;
}

}  // namespace

Series fit_series(const SeriesKey& key, const std::vector<CollectiveRow>& rows) {
  UNDERSTUDY_ASSERT(!rows.empty());
  Series series{key};
  const std::map<int, Sweep> sweeps = sweeps_of(rows);
  LeftOut sizes;
  LeftOut ranks;
  const auto [ramp, ends] = fit_ramp(key, sweeps);
  for (const auto& [n, sweep] : sweeps) {
    series.curves.push_back(curve_of(key, n, ramp, sweep));
    for (std::size_t i = 1; i + 1 < sweep.size(); ++i) {
      leave_out_sizes(key, n, ramp, sweep, i, 1, sizes);
    }
  }
  series.growth = fit_growth(key, series.curves);
  series.left_out = errors_of(sizes.residuals);
  series.sizes = {quantile_or(sizes.between, kAssumedSizes.between),
                  quantile_or(ends.beyond, kAssumedSizes.beyond)};
  leave_out_ranks(series, sweeps, ranks);
  // The more the time of a byte grows with the ranks, the less certain is its growth.
  const double least = kOfGrowth * power_of_bytes(series);
  const double beyond = series.curves.size() > 1 ? kAssumedRanks.beyond : kUnknownGrowth;
  // Near numbers of ranks do not calibrate far ones.
  series.ranks = {quantile_or(ranks.between, std::max(kAssumedRanks.between, least)),
                  std::max({quantile_or(ranks.beyond, 0), beyond, least})};
  return series;
}

Estimate estimate(const Series& series, double bytes, int ranks, int on_node) {
  const Place place = place_of(series.curves, ranks);
  const auto curve = series.curves.begin() + static_cast<std::ptrdiff_t>(place.below);
  const CurveAnswer below = answer(series, *curve, bytes, ranks, on_node);
  const CurveAnswer above =
      place.share > 0 ? answer(series, *(curve + 1), bytes, ranks, on_node) : below;
  const double ns = std::exp(std::lerp(below.ln_ns, above.ln_ns, place.share));
  const double width = et_schema::root_sum_square(std::lerp(below.width, above.width, place.share),
                                                  width_at(series.ranks, place));
  const bool is_beyond = below.is_beyond || above.is_beyond;
  Estimate time = within(ns, width, is_beyond ? "alpha_beta" : "alpha_beta+residual");
  time.extrapolated = is_beyond || place.outside > 0;
  return time;
}

}  // namespace understudy::predictor
