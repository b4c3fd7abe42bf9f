#include "predictor/collectives/series.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>

#include "et_schema/base/assert.h"
#include "et_schema/base/interval.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/collectives/traffic.h"
#include "predictor/fitting/interpolation.h"
#include "predictor/fitting/least_squares.h"

namespace understudy::predictor {
namespace {

// Chosen on NCCL's tables of five cards (docs/results/prediction.md, "Collectives").
constexpr double kLeastWidth = 0.01;   ///< minimum difference of two sweeps on one machine
constexpr double kLeastLatency = 0.1;  ///< minimum share of the shortest time that is latency
constexpr double kTellsBytes = 4;      ///< minimum ratio of sizes that shows the time of a byte
constexpr double kTellsGrowth = 1.5;   ///< minimum ratio of ranks that shows growth, not noise
constexpr ErrorSteps kAssumedSizes = {.between = 0.15, .beyond = 0.5};
constexpr ErrorSteps kAssumedRanks = {.between = 0.3, .beyond = 0.4};
constexpr double kUnknownGrowth = 1.2;  ///< kAssumedRanks.beyond of a table of one number of ranks

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ln_size(double bytes) {
  return std::log(std::max(bytes, 1.0));
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

/// Latency and time of a link's byte.
struct Base {
  double latency_ns = 0;
  double ns_per_byte = 0;
};

double time_ns(const Base& base, CommKind kind, double bytes, int ranks) {
  return base.latency_ns + base.ns_per_byte * traffic_of(kind, bytes, ranks).link_bytes;
}

/// Fits latency and bytes. If the sizes do not tell them apart, they have the ratio of any network.
Base fit_base(CommKind kind, int ranks, const Sweep& sweep) {
  if (sweep.back().bytes < kTellsBytes * sweep.front().bytes || sweep.size() == 1) {
    const Base any{kAssumedStepNs * traffic_of(kind, 0, ranks).steps, kAssumedNsPerByte};
    const double scale = sweep.back().ns / time_ns(any, kind, sweep.back().bytes, ranks);
    return {scale * any.latency_ns, scale * any.ns_per_byte};
  }
  DesignMatrix design;
  std::vector<double> times;
  for (const Point& point : sweep) {
    design.push_back({1, traffic_of(kind, point.bytes, ranks).link_bytes});
    times.push_back(point.ns);
  }
  const std::vector<double> fitted = relative_least_squares(std::move(design), times);
  return {std::max(fitted[0], kLeastLatency * *std::ranges::min_element(times)), fitted[1]};
}

SizeCurve curve_of(CommKind kind, int ranks, const Sweep& sweep) {
  const Base base = fit_base(kind, ranks, sweep);
  SizeCurve curve{ranks, base.latency_ns, base.ns_per_byte, {}, {}, {}};
  for (const Point& point : sweep) {
    curve.ln_bytes.push_back(ln_size(point.bytes));
    curve.efficiency.push_back(time_ns(base, kind, point.bytes, ranks) / point.ns);
    curve.spread.push_back(point.spread);
  }
  return curve;
}

/// Returns the width of an error at this place.
double width_at(const ErrorSteps& steps, const Place& place) {
  return place.outside > 0 ? steps.beyond * place.outside : steps.between * walk_deviation(place);
}

/// A number of ranks between two curves, or beyond the nearer one.
struct Neighbours {
  const SizeCurve& below;
  const SizeCurve& above;
  double share = 0;  ///< of the way to `above`; beyond [0, 1] outside of both
  Place place;
};

Neighbours neighbours(const std::vector<SizeCurve>& curves, int ranks) {
  std::vector<double> ln_ranks;
  for (const SizeCurve& curve : curves) {
    ln_ranks.push_back(std::log(curve.ranks));
  }
  const double x = std::log(ranks);
  const Place place = find_place(ln_ranks, x);
  if (place.outside == 0) {
    const std::size_t above = place.below + (place.share > 0 ? 1 : 0);
    return {curves[place.below], curves[above], place.share, place};
  }
  // Growth shows between the last number of ranks and the nearest one that is clearly different.
  const bool is_above = place.below > 0 || x > ln_ranks.front();
  const std::size_t last = curves.size() - 1;
  std::size_t other = is_above ? 0 : last;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::size_t at = is_above ? i : last - i;
    if (std::abs(ln_ranks[at] - ln_ranks[place.below]) >= std::log(kTellsGrowth)) {
      other = at;
    }
  }
  const std::size_t below = std::min(other, place.below);
  const std::size_t above = std::max(other, place.below);
  const double gap = ln_ranks[above] - ln_ranks[below];
  return {curves[below], curves[above], gap > 0 ? (x - ln_ranks[below]) / gap : 0, place};
}

/// Interpolates linearly in logarithm.
double between(double from, double to, double share) {
  return from > 0 && to > 0 ? from * std::pow(to / from, share) : std::lerp(from, to, share);
}

/// Repeats the growth between two values beyond either, by a factor of at least 1, at most `most`.
double grown(double from, double to, double share, double most) {
  const double growth = from > 0 ? std::clamp(to / from, 1.0, most) : 1;
  return share > 1 ? to * std::pow(growth, share - 1) : from * std::pow(growth, share);
}

/// Returns the latency and the time per byte on another number of ranks.
Base base_at(CommKind kind, const Neighbours& at, int ranks) {
  const SizeCurve& below = at.below;
  const SizeCurve& above = at.above;
  if (at.place.outside > 0 && below.ranks == above.ranks) {
    const double steps = traffic_of(kind, 0, ranks).steps / traffic_of(kind, 0, below.ranks).steps;
    return {below.latency_ns * steps, below.ns_per_byte};
  }
  if (at.place.outside == 0) {
    return {between(below.latency_ns, above.latency_ns, at.share),
            between(below.ns_per_byte, above.ns_per_byte, at.share)};
  }
  // More ranks make nothing faster, and latency at most grows with them.
  const double ratio = static_cast<double>(above.ranks) / below.ranks;
  return {grown(below.latency_ns, above.latency_ns, at.share, ratio),
          grown(below.ns_per_byte, above.ns_per_byte, at.share, kInfinity)};
}

/// A curve's value at a size.
struct CurveAnswer {
  double efficiency = 1;
  double width = 0;  ///< |ln|, 90 %
  bool is_beyond = false;
};

CurveAnswer answer(const ErrorSteps& sizes, const SizeCurve& curve, double bytes) {
  const Place place = find_place(curve.ln_bytes, ln_size(bytes));
  const double width = std::hypot(width_at(sizes, place), curve.spread[place.below], kLeastWidth);
  return {interpolate(curve.efficiency, place), width, place.outside > 0};
}

Estimate predict(CommKind kind, const std::vector<SizeCurve>& curves, const ErrorSteps& sizes,
                 const ErrorSteps& steps, double bytes, int ranks) {
  const Neighbours at = neighbours(curves, ranks);
  const double share = std::clamp(at.share, 0.0, 1.0);
  const CurveAnswer below = answer(sizes, at.below, bytes);
  const CurveAnswer above = answer(sizes, at.above, bytes);
  const double ns = time_ns(base_at(kind, at, ranks), kind, bytes, ranks) /
                    std::lerp(below.efficiency, above.efficiency, share);
  const double width = et_schema::root_sum_square(std::lerp(below.width, above.width, share),
                                                  width_at(steps, at.place));
  const bool is_beyond = (share < 1 && below.is_beyond) || (share > 0 && above.is_beyond);
  return {.ns = ns,
          .low_ns = ns * std::exp(-width),
          .high_ns = ns * std::exp(width),
          .model = is_beyond ? "alpha_beta" : "alpha_beta+residual",
          .extrapolated = is_beyond || at.place.outside > 0};
}

/// Points of curves, each predicted from the other points of its curve.
struct LeftOut {
  std::vector<double> scores;  ///< |ln error| / the walk's deviation
  std::vector<double> predicted, measured;
};

void leave_out_sizes(const SizeCurve& curve, const Sweep& sweep, LeftOut& out) {
  for (std::size_t i = 1; i + 1 < sweep.size(); ++i) {
    const Place place =
        find_place({curve.ln_bytes[i - 1], curve.ln_bytes[i + 1]}, curve.ln_bytes[i]);
    const double share = interpolate({curve.efficiency[i - 1], curve.efficiency[i + 1]}, place);
    out.predicted.push_back(sweep[i].ns * curve.efficiency[i] / share);
    out.measured.push_back(sweep[i].ns);
    out.scores.push_back(std::abs(std::log(curve.efficiency[i] / share)) / walk_deviation(place));
  }
}

/// Predicts the two sizes at one end from the others. Adds |ln error| per ln size.
void leave_out_end(CommKind kind, int ranks, const Sweep& sweep, bool at_top,
                   std::vector<double>& scores) {
  constexpr std::ptrdiff_t kLeftOut = 2;
  constexpr std::size_t kLeast = 5;
  if (sweep.size() < kLeast) {
    return;
  }
  const auto begin = sweep.begin() + (at_top ? 0 : kLeftOut);
  const SizeCurve kept = curve_of(kind, ranks, {begin, begin + (std::ssize(sweep) - kLeftOut)});
  for (std::ptrdiff_t i = 0; i < kLeftOut; ++i) {
    const Point& point = at_top ? *(sweep.end() - 1 - i) : *(sweep.begin() + i);
    const Place place = find_place(kept.ln_bytes, ln_size(point.bytes));
    const double ns = predict(kind, {kept}, {}, {}, point.bytes, ranks).ns;
    scores.push_back(std::abs(std::log(ns / point.ns)) / place.outside);
  }
}

/// Adds the errors of a curve's points if `known` predict them, per unit of `width_at({1, 1})`.
void leave_out_ranks(CommKind kind, const std::vector<SizeCurve>& known, const SizeCurve& curve,
                     std::vector<double>& scores) {
  const double unit = width_at({1, 1}, neighbours(known, curve.ranks).place);
  for (std::size_t i = 0; i < curve.ln_bytes.size(); ++i) {
    const double bytes = std::exp(curve.ln_bytes[i]);
    const double ns = time_ns({curve.latency_ns, curve.ns_per_byte}, kind, bytes, curve.ranks) /
                      curve.efficiency[i];
    scores.push_back(std::abs(std::log(predict(kind, known, {}, {}, bytes, curve.ranks).ns / ns)) /
                     unit);
  }
}

/// Near numbers of ranks do not calibrate far ones: `beyond` is at least the assumed one.
ErrorSteps rank_steps(CommKind kind, const std::vector<SizeCurve>& curves) {
  if (curves.size() < 3) {
    return {kAssumedRanks.between, curves.size() == 1 ? kUnknownGrowth : kAssumedRanks.beyond};
  }
  std::vector<double> between;
  std::vector<double> beyond;
  for (std::size_t c = 1; c < curves.size(); ++c) {
    const auto at = curves.begin() + static_cast<std::ptrdiff_t>(c);
    std::vector<SizeCurve> known(curves.begin(), at);
    for (auto later = at; known.size() > 1 && later != curves.end(); ++later) {
      leave_out_ranks(kind, known, *later, beyond);
    }
    if (c + 1 < curves.size()) {
      known.insert(known.end(), at + 1, curves.end());
      leave_out_ranks(kind, known, *at, between);
    }
  }
  return {conformal_quantile(between, kIntervalShare),
          std::max(kAssumedRanks.beyond, conformal_quantile(beyond, kIntervalShare))};
}

}  // namespace

Series fit_series(const SeriesKey& key, const std::vector<CollectiveRow>& rows) {
  UNDERSTUDY_ASSERT(!rows.empty());
  Series series{key, {}, kAssumedSizes, {}, {}};
  LeftOut left_out;
  std::vector<double> ends;
  for (const auto& [ranks, sweep] : sweeps_of(rows)) {
    series.curves.push_back(curve_of(key.kind, ranks, sweep));
    leave_out_sizes(series.curves.back(), sweep, left_out);
    leave_out_end(key.kind, ranks, sweep, true, ends);
    leave_out_end(key.kind, ranks, sweep, false, ends);
  }
  series.left_out = summarize_errors(left_out.predicted, left_out.measured);
  if (!left_out.scores.empty()) {
    series.sizes.between = conformal_quantile(left_out.scores, kIntervalShare);
  }
  if (!ends.empty()) {
    series.sizes.beyond = conformal_quantile(ends, kIntervalShare);
  }
  series.ranks = rank_steps(key.kind, series.curves);
  return series;
}

Estimate estimate(const Series& series, double bytes, int ranks) {
  return predict(series.key.kind, series.curves, series.sizes, series.ranks, bytes, ranks);
}

}  // namespace understudy::predictor
