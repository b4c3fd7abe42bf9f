#pragma once

#include <string>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"
#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/collectives/traffic.h"
#include "predictor/fitting/errors.h"

namespace understudy::predictor {

/// Key of measurements that differ only in size and in the number of ranks: of one node, or of
/// several nodes with equally many ranks on each.
struct SeriesKey {
  CommKind kind = CommKind::kAllReduce;
  bool on_device = true;
  int ranks_per_node = 0;  ///< 0: all ranks are on one node
  DType dtype = DType::kFloat32;
  std::string device = {};   ///< card of the table, or only its model; empty: unknown
  std::string network = {};  ///< between nodes; empty: unknown
  auto operator<=>(const SeriesKey&) const = default;
};

/// The time of a call, x ns for its link bytes (traffic.h): latency_ns + x + 2 sqrt(ramp_ns x).
struct Base {
  double latency_ns = 0;
  double ns_per_byte = 0;
  double ramp_ns = 0;  ///< how slowly larger sizes reach the bandwidth
  bool operator==(const Base&) const = default;
};

/// A sweep over sizes on one number of ranks, ordered by size.
struct SizeCurve {
  int ranks = 2;
  Base base = {};
  std::vector<double> ln_bytes;    ///< 0 for a size of 0
  std::vector<double> efficiency;  ///< base / measured time
  std::vector<double> spread;      ///< spread of the repetitions / time
  bool operator==(const SizeCurve&) const = default;
};

/// How latency grows with the ranks: call_ns + step_ns x steps_of() (traffic.h).
struct Growth {
  double call_ns = kAssumedCallNs;
  double step_ns = kAssumedStepNs;
  double tree_step = kTreeStep;
  bool operator==(const Growth&) const = default;
};

/// 90 % quantiles of |ln error| if a measurement is left out of the fit.
struct ErrorSteps {
  double between = 0;  ///< per unit of walk_deviation() between two measurements
  double beyond = 0;   ///< per unit of ln distance beyond the last
  bool operator==(const ErrorSteps&) const = default;
};

/// A model of one kind. A curve's efficiency is interpolated linearly in ln size; beyond its sizes
/// it stays constant. On other ranks its latency follows `growth`, the ramp the root of that, and
/// the time per byte a power of n within a node. Between two curves ln t is interpolated linearly
/// in ln n.
struct Series {
  SeriesKey key;
  std::vector<SizeCurve> curves = {};  ///< ordered by ranks
  Growth growth = {};
  ErrorSteps sizes = {}, ranks = {};
  Errors left_out = {};  ///< errors of inner sizes, each predicted from the others
  bool operator==(const Series&) const = default;
};

/// Fits rows of one key. There must be at least one row, and all must have two ranks or more.
[[nodiscard]] Series fit_series(const SeriesKey& key, const std::vector<CollectiveRow>& rows);

/// Returns the time of a call of that kind. `ranks` must be at least 2. `on_node`: ranks that share
/// the links of a node, which slow down with their number; 0: all.
[[nodiscard]] Estimate estimate(const Series& series, double bytes, int ranks, int on_node = 0);

}  // namespace understudy::predictor
