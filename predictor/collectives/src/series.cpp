#include "predictor/collectives/series.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>

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

/// Latency and time of a link's byte.
struct Base {
  double latency_ns = 0;
  double ns_per_byte = 0;
};

double time_ns(const Base& base, CommKind kind, double bytes, int ranks) {
  return base.latency_ns + base.ns_per_byte * traffic_of(kind, bytes, ranks).link_bytes;
}

/// Fits latency and bytes. If the sizes do not tell them apart, they have the ratio of any network.
Base fit_base(CommKind kind, int ranks, std::span<const Point> sweep) {
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

SizeCurve curve_of(CommKind kind, int ranks, std::span<const Point> sweep) {
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
  const std::size_t far = place.below > 0 || x > ln_ranks.front() ? 0 : curves.size() - 1;
  std::size_t other = place.below;
  while (other != far &&
         std::abs(ln_ranks[other] - ln_ranks[place.below]) < std::log(kTellsGrowth)) {
    other = far == 0 ? other - 1 : other + 1;
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

double growth_of(double from, double to, double most) {
  return from > 0 ? std::clamp(to / from, 1.0, most) : 1;
}

/// Repeats the growth between two values beyond either, by a factor of at least 1, at most `most`.
double grown(double from, double to, double share, double most) {
  const double growth = growth_of(from, to, most);
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
  // More ranks make nothing faster. Latency grows at most with them; links that ranks share through
  // a host took 5.8 times as long on twice the ranks.
  const double ratio = static_cast<double>(above.ranks) / below.ranks;
  return {grown(below.latency_ns, above.latency_ns, at.share, ratio),
          grown(below.ns_per_byte, above.ns_per_byte, at.share, ratio * ratio * ratio)};
}

/// A curve's value at a size.
struct CurveAnswer {
  double efficiency = 1;
  double width = 0;  ///< |ln|, 90 %
  bool is_beyond = false;
};

CurveAnswer answer(const ErrorSteps& sizes, const SizeCurve& curve, double bytes) {
  const Place place = find_place(curve.ln_bytes, ln_size(bytes));
  const double width = et_schema::root_sum_square(
      et_schema::root_sum_square(width_at(sizes, place), curve.spread[place.below]), kLeastWidth);
  return {interpolate(curve.efficiency, place), width, place.outside > 0};
}

/// Errors of points that were left out.
struct LeftOut {
  std::vector<double> between, beyond;  ///< |ln error| per unit of ErrorSteps
  std::vector<double> predicted, measured;
};

/// Adds a point's error if `known` predicts it: by sizes on known ranks, else by ranks.
void leave_out(const Series& known, int ranks, const Point& point, LeftOut& out) {
  Place place = neighbours(known.curves, ranks).place;
  if (place.outside == 0 && place.share == 0) {
    place = find_place(known.curves[place.below].ln_bytes, ln_size(point.bytes));
  }
  out.predicted.push_back(estimate(known, point.bytes, ranks).ns);
  out.measured.push_back(point.ns);
  (place.outside > 0 ? out.beyond : out.between)
      .push_back(std::abs(std::log(out.predicted.back() / point.ns)) / width_at({1, 1}, place));
}

/// Leaves out each inner size.
void leave_out_sizes(const SeriesKey& key, int ranks, const Sweep& sweep, LeftOut& out) {
  const SizeCurve whole = curve_of(key.kind, ranks, sweep);
  for (std::size_t i = 1; i + 1 < sweep.size(); ++i) {
    Series known{key, {whole}};
    const auto at = static_cast<std::ptrdiff_t>(i);
    known.curves[0].ln_bytes.erase(known.curves[0].ln_bytes.begin() + at);
    known.curves[0].efficiency.erase(known.curves[0].efficiency.begin() + at);
    leave_out(known, ranks, sweep[i], out);
  }
}

/// Leaves out the two sizes at either end.
void leave_out_ends(const SeriesKey& key, int ranks, std::span<const Point> sweep, LeftOut& out) {
  constexpr std::size_t kLeftOut = 2;
  constexpr std::size_t kLeast = 5;
  if (sweep.size() < kLeast) {
    return;
  }
  const auto score = [&](std::span<const Point> kept, std::span<const Point> lost) {
    const Series known{key, {curve_of(key.kind, ranks, kept)}};
    for (const Point& point : lost) {
      leave_out(known, ranks, point, out);
    }
  };
  score(sweep.first(sweep.size() - kLeftOut), sweep.last(kLeftOut));
  score(sweep.subspan(kLeftOut), sweep.first(kLeftOut));
}

/// Leaves out each inner number of ranks, and all beyond the second or a later one.
void leave_out_ranks(const Series& series, const std::map<int, Sweep>& sweeps, LeftOut& out) {
  const auto score = [&](const Series& known, const SizeCurve& curve) {
    for (const Point& point : sweeps.at(curve.ranks)) {
      leave_out(known, curve.ranks, point, out);
    }
  };
  const auto& curves = series.curves;
  for (auto at = curves.begin() + 1; at < curves.end(); ++at) {
    Series known{series.key, {curves.begin(), at}};
    for (auto later = at; known.curves.size() > 1 && later != curves.end(); ++later) {
      score(known, *later);
    }
    if (at + 1 != curves.end()) {
      known.curves.insert(known.curves.end(), at + 1, curves.end());
      score(known, *at);
    }
  }
}

/// The more the time of a byte grows with the ranks, the less certain is its growth.
ErrorSteps assumed_ranks(const SizeCurve& first, const SizeCurve& last) {
  if (first.ranks == last.ranks) {
    return {kAssumedRanks.between, kUnknownGrowth};
  }
  const double ratio = static_cast<double>(last.ranks) / first.ranks;
  const double growth = growth_of(first.ns_per_byte, last.ns_per_byte, ratio * ratio * ratio);
  const double least = kOfGrowth * std::log(growth) / std::log(ratio);
  return {std::max(kAssumedRanks.between, least), std::max(kAssumedRanks.beyond, least)};
}

ErrorSteps steps_of(const LeftOut& out, const ErrorSteps& assumed) {
  return {out.between.empty() ? assumed.between : conformal_quantile(out.between, kIntervalShare),
          out.beyond.empty() ? assumed.beyond : conformal_quantile(out.beyond, kIntervalShare)};
}

}  // namespace

Series fit_series(const SeriesKey& key, const std::vector<CollectiveRow>& rows) {
  UNDERSTUDY_ASSERT(!rows.empty());
  Series series{key};
  const std::map<int, Sweep> sweeps = sweeps_of(rows);
  LeftOut sizes;
  LeftOut ranks;
  for (const auto& [n, sweep] : sweeps) {
    series.curves.push_back(curve_of(key.kind, n, sweep));
    leave_out_sizes(key, n, sweep, sizes);
  }
  series.left_out = summarize_errors(sizes.predicted, sizes.measured);
  for (const auto& [n, sweep] : sweeps) {
    leave_out_ends(key, n, sweep, sizes);
  }
  leave_out_ranks(series, sweeps, ranks);
  series.sizes = steps_of(sizes, kAssumedSizes);
  const ErrorSteps assumed = assumed_ranks(series.curves.front(), series.curves.back());
  series.ranks = steps_of(ranks, assumed);
  // Near numbers of ranks do not calibrate far ones.
  series.ranks.beyond = std::max(series.ranks.beyond, assumed.beyond);
  return series;
}

Estimate estimate(const Series& series, double bytes, int ranks) {
  const Neighbours at = neighbours(series.curves, ranks);
  const double share = std::clamp(at.share, 0.0, 1.0);
  const CurveAnswer below = answer(series.sizes, at.below, bytes);
  const CurveAnswer above = answer(series.sizes, at.above, bytes);
  const double ns = time_ns(base_at(series.key.kind, at, ranks), series.key.kind, bytes, ranks) /
                    std::lerp(below.efficiency, above.efficiency, share);
  const double width = et_schema::root_sum_square(std::lerp(below.width, above.width, share),
                                                  width_at(series.ranks, at.place));
  const bool is_beyond = (share < 1 && below.is_beyond) || (share > 0 && above.is_beyond);
  return {.ns = ns,
          .low_ns = ns * std::exp(-width),
          .high_ns = ns * std::exp(width),
          .model = is_beyond ? "alpha_beta" : "alpha_beta+residual",
          .extrapolated = is_beyond || at.place.outside > 0};
}

}  // namespace understudy::predictor
