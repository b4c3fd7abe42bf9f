#include "predictor/collectives/series.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "et_schema/base/assert.h"
#include "et_schema/base/interval.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/collectives/traffic.h"
#include "predictor/fitting/interpolation.h"
#include "predictor/fitting/least_squares.h"

namespace understudy::predictor {
namespace {

constexpr double kBeyond = 2;         ///< factor on widths outside of the calibrated range
constexpr double kLeastWidth = 0.01;  ///< minimum difference of two sweeps on one machine
// Steps assumed if there are too few rows: similar to those of all-reduce on 2 to 8 A100.
constexpr double kAssumedSizeStep = 0.15;
constexpr double kAssumedRankStep = 0.25;

double ln_size(double bytes) {
  return std::log(std::max(bytes, 1.0));
}

struct AlphaBeta {
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
};

double time_ns(const AlphaBeta& base, CommKind kind, double bytes, int ranks) {
  // Time of no bytes if no latency was found. Never 0, because it is a divisor.
  constexpr double kLeastNs = 1e-6;
  const Traffic traffic = traffic_of(kind, bytes, ranks);
  return std::max(kLeastNs,
                  base.alpha_ns * traffic.steps + base.beta_ns_per_byte * traffic.link_bytes);
}

/// A size on one number of ranks; equal rows are merged.
struct Point {
  double bytes = 0;
  double ns = 0;
  double spread = 0;
};
using Sweep = std::vector<Point>;

Point merged(const std::vector<const CollectiveRow*>& rows) {
  Point point{static_cast<double>(rows.front()->bytes), 0, 0};
  for (const CollectiveRow* row : rows) {
    point.ns += std::log(row->median_ns);
    point.spread = std::max(point.spread, row->spread_ns / row->median_ns);
  }
  point.ns = std::exp(point.ns / static_cast<double>(rows.size()));
  return point;
}

std::map<int, Sweep> sweeps_of(const std::vector<CollectiveRow>& rows) {
  std::map<int, std::map<std::int64_t, std::vector<const CollectiveRow*>>> sorted;
  for (const CollectiveRow& row : rows) {
    sorted[row.ranks][row.bytes].push_back(&row);
  }
  std::map<int, Sweep> sweeps;
  for (const auto& [ranks, sizes] : sorted) {
    for (const auto& [bytes, equal] : sizes) {
      sweeps[ranks].push_back(merged(equal));
    }
  }
  return sweeps;
}

AlphaBeta fit_base(CommKind kind, const std::map<int, Sweep>& sweeps) {
  DesignMatrix design;
  std::vector<double> times;
  for (const auto& [ranks, sweep] : sweeps) {
    for (const Point& point : sweep) {
      const Traffic traffic = traffic_of(kind, point.bytes, ranks);
      design.push_back({traffic.steps, traffic.link_bytes});
      times.push_back(point.ns);
    }
  }
  const std::vector<double> fitted = relative_least_squares(std::move(design), times);
  return {fitted[0], fitted[1]};
}

SizeCurve curve_of(CommKind kind, int ranks, const Sweep& sweep, const AlphaBeta& base) {
  SizeCurve curve;
  curve.ranks = ranks;
  for (const Point& point : sweep) {
    curve.ln_bytes.push_back(ln_size(point.bytes));
    curve.efficiency.push_back(time_ns(base, kind, point.bytes, ranks) / point.ns);
    curve.spread.push_back(point.spread);
  }
  return curve;
}

/// Points of curves, each predicted from the other points of its curve.
struct LeftOut {
  std::vector<double> scores;  ///< |ln error| / the walk's deviation
  std::vector<double> predicted, measured;
};

void leave_out_sizes(CommKind kind, const SizeCurve& curve, const Sweep& sweep,
                     const AlphaBeta& base, LeftOut& out) {
  for (std::size_t i = 1; i + 1 < sweep.size(); ++i) {
    const Place place =
        find_place({curve.ln_bytes[i - 1], curve.ln_bytes[i + 1]}, curve.ln_bytes[i]);
    const double share = interpolate({curve.efficiency[i - 1], curve.efficiency[i + 1]}, place);
    const double ns = time_ns(base, kind, sweep[i].bytes, curve.ranks) / share;
    out.predicted.push_back(ns);
    out.measured.push_back(sweep[i].ns);
    out.scores.push_back(std::abs(std::log(ns / sweep[i].ns)) / walk_deviation(place));
  }
}

/// Predicts the two sizes at one end from the others. Adds |ln error| per sqrt(ln size).
void leave_out_end(CommKind kind, int ranks, const Sweep& sweep, bool at_top,
                   std::vector<double>& scores) {
  constexpr std::ptrdiff_t kLeftOut = 2;
  constexpr std::size_t kLeast = 5;
  if (sweep.size() < kLeast) {
    return;
  }
  const Sweep kept = at_top ? Sweep(sweep.begin(), sweep.end() - kLeftOut)
                            : Sweep(sweep.begin() + kLeftOut, sweep.end());
  const AlphaBeta base = fit_base(kind, {{ranks, kept}});
  const Point& end = at_top ? kept.back() : kept.front();
  const double share = time_ns(base, kind, end.bytes, ranks) / end.ns;
  for (std::ptrdiff_t i = 0; i < kLeftOut; ++i) {
    const Point& point = at_top ? *(sweep.end() - 1 - i) : *(sweep.begin() + i);
    const double distance = std::sqrt(std::abs(ln_size(point.bytes) - ln_size(end.bytes)));
    const double ns = time_ns(base, kind, point.bytes, ranks) / share;
    scores.push_back(std::abs(std::log(ns / point.ns)) / distance);
  }
}

/// Returns the errors if each inner number of ranks is left out.
std::vector<double> rank_scores(const std::vector<SizeCurve>& curves) {
  std::vector<double> scores;
  for (std::size_t c = 1; c + 1 < curves.size(); ++c) {
    const Place between = find_place({std::log(curves[c - 1].ranks), std::log(curves[c + 1].ranks)},
                                     std::log(curves[c].ranks));
    for (std::size_t i = 0; i < curves[c].ln_bytes.size(); ++i) {
      const auto at = [&](const SizeCurve& curve) {
        return interpolate(curve.efficiency, find_place(curve.ln_bytes, curves[c].ln_bytes[i]));
      };
      const double share = interpolate({at(curves[c - 1]), at(curves[c + 1])}, between);
      scores.push_back(std::abs(std::log(share / curves[c].efficiency[i])) /
                       walk_deviation(between));
    }
  }
  return scores;
}

/// A curve's value at a size.
struct CurveAnswer {
  double efficiency = 1;
  double width = 0;  ///< |ln|, 90 %
  bool is_beyond = false;
};

CurveAnswer answer(const Series& series, const SizeCurve& curve, double bytes) {
  const Place place = find_place(curve.ln_bytes, ln_size(bytes));
  CurveAnswer answer{interpolate(curve.efficiency, place), 0, place.outside > 0};
  const double step = answer.is_beyond ? kBeyond * series.end_step : series.size_step;
  const double spread = curve.spread[place.below];
  answer.width = std::hypot(step * walk_deviation(place), spread, kLeastWidth);
  return answer;
}

}  // namespace

Series fit_series(const SeriesKey& key, const std::vector<CollectiveRow>& rows) {
  UNDERSTUDY_ASSERT(!rows.empty());
  const std::map<int, Sweep> sweeps = sweeps_of(rows);
  const AlphaBeta base = fit_base(key.kind, sweeps);
  Series series;
  series.key = key;
  series.alpha_ns = base.alpha_ns;
  series.beta_ns_per_byte = base.beta_ns_per_byte;
  LeftOut left_out;
  std::vector<double> ends;
  for (const auto& [ranks, sweep] : sweeps) {
    series.curves.push_back(curve_of(key.kind, ranks, sweep, base));
    leave_out_sizes(key.kind, series.curves.back(), sweep, base, left_out);
    leave_out_end(key.kind, ranks, sweep, true, ends);
    leave_out_end(key.kind, ranks, sweep, false, ends);
  }
  series.left_out = summarize_errors(left_out.predicted, left_out.measured);
  series.size_step = left_out.scores.empty() ? kAssumedSizeStep
                                             : conformal_quantile(left_out.scores, kIntervalShare);
  series.end_step = ends.empty() ? std::max(kAssumedSizeStep, series.size_step)
                                 : conformal_quantile(ends, kIntervalShare);
  const std::vector<double> ranks = rank_scores(series.curves);
  series.rank_step = ranks.empty() ? kAssumedRankStep : conformal_quantile(ranks, kIntervalShare);
  return series;
}

Estimate estimate(const Series& series, double bytes, int ranks) {
  std::vector<double> ln_ranks;
  for (const SizeCurve& curve : series.curves) {
    ln_ranks.push_back(std::log(curve.ranks));
  }
  const Place place = find_place(ln_ranks, std::log(ranks));
  // If the sizes determine no latency, a smaller call takes at most the time of the smallest.
  const double least_bytes = std::exp(series.curves[place.below].ln_bytes.front());
  const bool is_least = series.alpha_ns <= 0 && bytes < least_bytes;
  bytes = is_least ? least_bytes : bytes;
  CurveAnswer at = answer(series, series.curves[place.below], bytes);
  if (place.share > 0) {
    const CurveAnswer above = answer(series, series.curves[place.below + 1], bytes);
    at.efficiency += place.share * (above.efficiency - at.efficiency);
    at.width = std::max(at.width, above.width);
    at.is_beyond = at.is_beyond || above.is_beyond;
  }
  const double rank_width =
      (place.outside > 0 ? kBeyond : 1) * series.rank_step * walk_deviation(place);
  const double width = et_schema::root_sum_square(at.width, rank_width);
  const AlphaBeta base{series.alpha_ns, series.beta_ns_per_byte};
  const double ns = time_ns(base, series.key.kind, bytes, ranks) / at.efficiency;
  return {.ns = ns,
          .low_ns = is_least ? 0 : ns * std::exp(-width),
          .high_ns = ns * std::exp(width),
          .model = at.is_beyond ? "alpha_beta" : "alpha_beta+residual",
          .extrapolated = is_least || at.is_beyond || place.outside > 0};
}

}  // namespace understudy::predictor
