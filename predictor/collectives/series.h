#pragma once

#include <compare>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"
#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/fitting/errors.h"

namespace understudy::predictor {

/// Share of the repetitions that an interval contains.
inline constexpr double kIntervalShare = 0.9;

/// Key of a sweep.
struct SeriesKey {
  CommKind kind = CommKind::kAllReduce;
  bool on_device = true;
  int nodes = 1;
  DType dtype = DType::kFloat32;
  auto operator<=>(const SeriesKey&) const = default;
};

/// A sweep over sizes on one number of ranks, ordered by size.
struct SizeCurve {
  int ranks = 2;
  std::vector<double> ln_bytes;    ///< 0 for a size of 0
  std::vector<double> efficiency;  ///< alpha-beta time / measured time
  std::vector<double> spread;      ///< spread of the repetitions / time
  bool operator==(const SizeCurve&) const = default;
};

/// A model of one kind: the time alpha x steps + beta x link bytes (traffic.h), divided by an
/// efficiency. The efficiency is interpolated linearly in ln size and ln n; beyond the measured
/// sizes it stays constant. Intervals treat the efficiency as a random walk over ln size and ln n.
/// The walk's steps are 90 % quantiles of the errors if a size, an end or a number of ranks is left
/// out of the fit.
struct Series {
  SeriesKey key;
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  std::vector<SizeCurve> curves;  ///< ordered by ranks
  double size_step = 0;           ///< |ln error| per sqrt(ln size) between measured sizes
  double end_step = 0;            ///< the same beyond the last measured size
  double rank_step = 0;           ///< |ln error| per sqrt(ln n)
  Errors left_out;                ///< errors of inner sizes, each predicted from the others
  bool operator==(const Series&) const = default;
};

/// Fits rows of one key. There must be at least one row, and all must have two ranks or more.
[[nodiscard]] Series fit_series(const SeriesKey& key, const std::vector<CollectiveRow>& rows);

/// Returns the time of a call of that kind. `ranks` must be at least 2.
[[nodiscard]] Estimate estimate(const Series& series, double bytes, int ranks);

}  // namespace understudy::predictor
