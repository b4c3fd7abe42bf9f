#pragma once

#include <compare>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"
#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/fitting/errors.h"

namespace understudy::predictor {

/// What share of repetitions the intervals hold.
inline constexpr double kIntervalShare = 0.9;

/// What one sweep is of.
struct SeriesKey {
  CommKind kind = CommKind::kAllReduce;
  bool on_device = true;
  int nodes = 1;
  DType dtype = DType::kFloat32;
  auto operator<=>(const SeriesKey&) const = default;
};

/// A sweep over size on one number of ranks, ascending in size.
struct SizeCurve {
  int ranks = 2;
  std::vector<double> ln_bytes;    ///< of a size of 0: 0
  std::vector<double> efficiency;  ///< alpha-beta's time / what was measured
  std::vector<double> spread;      ///< of repetitions, as a share of the time
  bool operator==(const SizeCurve&) const = default;
};

/// A model of one kind: alpha (n - 1) + beta 2 (n - 1) / n S for all-reduce and alike for others
/// (traffic.h), and over it what share of that was reached, linear in ln size and in ln n. Beyond
/// the sizes that were measured the share of the last one is kept. Intervals take that share for a
/// random walk over ln size and over ln n: its step is the 90 % quantile of what leaving out a
/// size, an end, or a number of ranks would have missed by.
struct Series {
  SeriesKey key;
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  std::vector<SizeCurve> curves;  ///< ascending in ranks
  double size_step = 0;           ///< |ln error| per sqrt(ln size) between sizes
  double end_step = 0;            ///< the same beyond the last one
  double rank_step = 0;           ///< |ln error| per sqrt(ln n)
  Errors left_out;                ///< of sizes between others, each predicted from the rest
  bool operator==(const Series&) const = default;
};

/// Fits rows of one key, all of two ranks or more; at least one.
[[nodiscard]] Series fit_series(const SeriesKey& key, const std::vector<CollectiveRow>& rows);

/// The time of a call of that kind on two ranks or more.
[[nodiscard]] Estimate estimate(const Series& series, double bytes, int ranks);

}  // namespace understudy::predictor
