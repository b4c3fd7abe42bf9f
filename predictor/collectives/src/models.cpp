#include "predictor/collectives/models.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/interval.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/collectives/traffic.h"
#include "predictor/fitting/least_squares.h"

namespace understudy::predictor {
namespace {

// Widths, |ln|, of substituted rows. Assumed, as no table has several kinds, types or places.
constexpr double kOtherKind = 0.4;
constexpr double kOtherDtype = 0.2;
constexpr double kOtherPlace = 0.7;  ///< links of GPUs for hosts, or vice versa
constexpr double kNoNetwork = 2.3;   ///< unknown network between nodes: a factor of ten
constexpr double kOtherNodes = 0.3;
constexpr double kNear = 4;  ///< maximum factor from a size to the nearest measured one

bool is_free(CommKind kind) {
  return et_schema::traits(kind).sizes == et_schema::CommSizes::kNoCommunication;
}

void widen(Estimate& estimate, double width) {
  if (!(estimate.low_ns > 0)) {
    estimate.high_ns *= std::exp(width);  // a lower bound of 0 stays 0
    return;
  }
  const double low = std::log(estimate.ns / estimate.low_ns);
  const double high = std::log(estimate.high_ns / estimate.ns);
  estimate.low_ns = estimate.ns * std::exp(-et_schema::root_sum_square(low, width));
  estimate.high_ns = estimate.ns * std::exp(et_schema::root_sum_square(high, width));
}

/// Marks an estimate that no rows of the kind support.
void guess(Estimate& estimate, double width) {
  estimate.extrapolated = true;
  estimate.modelled = false;
  widen(estimate, width);
}

double common_ns(const AlphaBetaGamma& common, CommKind kind, double bytes, int ranks) {
  const Traffic traffic = traffic_of(kind, bytes, ranks);
  return common.alpha_ns * traffic.steps + common.beta_ns_per_byte * traffic.link_bytes +
         common.gamma_ns_per_byte * traffic.reduced_bytes;
}

double between_ns(const NodeNetwork& network, CommKind kind, double bytes, int ranks, int nodes) {
  return network.step_ns * node_steps(kind, nodes) +
         network.ns_per_byte * node_bytes(kind, bytes, ranks, nodes);
}

AlphaBetaGamma fit_common(const std::vector<CollectiveRow>& rows) {
  DesignMatrix design;
  std::vector<double> times;
  for (const CollectiveRow& row : rows) {
    const Traffic traffic = traffic_of(row.kind, static_cast<double>(row.bytes), row.ranks);
    design.push_back({traffic.steps, traffic.link_bytes, traffic.reduced_bytes});
    times.push_back(row.median_ns);
  }
  const std::vector<double> fitted = relative_least_squares(std::move(design), times);
  return {fitted[0], fitted[1], fitted[2]};
}

NodeNetwork fit_network(const std::vector<CollectiveRow>& rows) {
  DesignMatrix design;
  std::vector<double> times;
  for (const CollectiveRow& row : rows) {
    const auto bytes = static_cast<double>(row.bytes);
    design.push_back(
        {node_steps(row.kind, row.nodes), node_bytes(row.kind, bytes, row.ranks, row.nodes)});
    times.push_back(row.median_ns);
  }
  const std::vector<double> fitted = relative_least_squares(design, times);
  NodeNetwork network{fitted[0], fitted[1], 0};
  std::vector<double> scores;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double ns = fitted[0] * design[i][0] + fitted[1] * design[i][1];
    scores.push_back(std::abs(std::log(ns / times[i])));
  }
  network.width = conformal_quantile(scores, kIntervalShare);
  return network;
}

CollectiveModels::Platform fit_platform(bool on_device, const std::vector<CollectiveRow>& rows) {
  std::vector<CollectiveRow> inside;
  std::vector<CollectiveRow> across;
  for (const CollectiveRow& row : rows) {
    (row.nodes > 1 ? across : inside).push_back(row);
  }
  CollectiveModels::Platform platform;
  platform.on_device = on_device;
  platform.common = fit_common(inside.empty() ? across : inside);
  if (!across.empty()) {
    platform.between_nodes = fit_network(across);
  }
  return platform;
}

/// Range of a series' sizes over all numbers of ranks.
struct Sizes {
  double least_bytes = 0;
  double most_bytes = 0;
};
Sizes sizes_of(const Series& series) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const SizeCurve& curve : series.curves) {
    least = std::min(least, curve.ln_bytes.front());
    most = std::max(most, curve.ln_bytes.back());
  }
  return {std::exp(least), std::exp(most)};
}

/// Returns the kind's own series. Series with sizes near the call's come first, then those of its
/// element type, then float32.
const Series* find_series(const CollectiveModels& models, const SeriesKey& key, double bytes) {
  const Series* found = nullptr;
  const auto rank = [&key, bytes](const Series& series) {
    const Sizes sizes = sizes_of(series);
    const bool is_near = bytes <= kNear * sizes.most_bytes && bytes * kNear >= sizes.least_bytes;
    const int by_dtype = series.key.dtype == key.dtype         ? 2
                         : series.key.dtype == DType::kFloat32 ? 1
                                                               : 0;
    return (is_near ? 3 : 0) + by_dtype;
  };
  for (const Series& series : models.series) {
    if (series.key.kind == key.kind && series.key.on_device == key.on_device &&
        series.key.nodes == key.nodes && (found == nullptr || rank(series) > rank(*found))) {
      found = &series;
    }
  }
  return found;
}

const CollectiveModels::Platform& platform_of(const CollectiveModels& models, bool on_device) {
  const auto found =
      std::ranges::find(models.platforms, on_device, &CollectiveModels::Platform::on_device);
  return found == models.platforms.end() ? models.platforms.front() : *found;
}

/// Evaluates the series. If its sizes do not determine the time per byte, additional bytes take the
/// rate that all kinds have in common.
Estimate answer_of(const CollectiveModels& models, const Series& series, double bytes, int ranks) {
  const auto [least_bytes, most_bytes] = sizes_of(series);
  const bool tells_rate = series.beta_ns_per_byte > 0 && most_bytes > kNear * least_bytes;
  if (tells_rate || bytes <= most_bytes) {
    return estimate(series, bytes, ranks);
  }
  const double common = platform_of(models, series.key.on_device).common.beta_ns_per_byte;
  const double ns_per_byte = common > 0 ? common : kAssumedNsPerByte;
  const CommKind kind = series.key.kind;
  const double more_bytes =
      traffic_of(kind, bytes, ranks).link_bytes - traffic_of(kind, most_bytes, ranks).link_bytes;
  Estimate answer = estimate(series, most_bytes, ranks);
  answer.ns += ns_per_byte * more_bytes;
  answer.high_ns += ns_per_byte * more_bytes;
  answer.model = "as others move bytes: " + answer.model;
  answer.extrapolated = true;
  answer.modelled = common > 0;
  widen(answer, kOtherKind);
  return answer;
}

Estimate own(const CollectiveModels& models, const Series& series, const SeriesKey& key,
             double bytes, int ranks) {
  Estimate answer = answer_of(models, series, bytes, ranks);
  if (series.key.dtype != key.dtype && et_schema::traits(key.kind).reduces) {
    widen(answer, kOtherDtype);
  }
  return answer;
}

/// Derives the time from another kind's rows by traffic. Returns nothing if there are none.
std::optional<Estimate> derived(const CollectiveModels& models, const SeriesKey& key, double bytes,
                                int ranks) {
  for (const CommKind other : similar_kinds(key.kind)) {
    SeriesKey of_other = key;
    of_other.kind = other;
    const double other_bytes = similar_bytes(key.kind, bytes, ranks, other);
    const Series* series = find_series(models, of_other, other_bytes);
    if (series == nullptr) {
      continue;
    }
    const AlphaBetaGamma& common = platform_of(models, key.on_device).common;
    const double ours = common_ns(common, key.kind, bytes, ranks);
    const double theirs = common_ns(common, other, other_bytes, ranks);
    Estimate answer = scaled(answer_of(models, *series, other_bytes, ranks),
                             ours > 0 && theirs > 0 ? ours / theirs : 1);
    answer.model = "as " + std::string(et_schema::to_string(other)) + ": " + answer.model;
    guess(answer, kOtherKind);
    return answer;
  }
  return std::nullopt;
}

/// Returns the time if rows of any kind have this number of nodes, otherwise nothing.
std::optional<Estimate> measured(const CollectiveModels& models, const SeriesKey& key, double bytes,
                                 int ranks) {
  if (const Series* series = find_series(models, key, bytes)) {
    return own(models, *series, key, bytes, ranks);
  }
  return derived(models, key, bytes, ranks);
}

/// Returns the time as if all ranks were on one node.
Estimate inside_ns(const CollectiveModels& models, SeriesKey key, double bytes, int ranks) {
  key.nodes = 1;
  if (auto answer = measured(models, key, bytes, ranks)) {
    return *answer;
  }
  key.on_device = !key.on_device;
  if (auto answer = measured(models, key, bytes, ranks)) {
    guess(*answer, kOtherPlace);
    return *answer;
  }
  // All rows are from several nodes: apply their common model to one node.
  Estimate answer =
      known(common_ns(models.platforms.front().common, key.kind, bytes, ranks), "alpha_beta_gamma");
  guess(answer, kOtherPlace);
  return answer;
}

Estimate across_nodes(const CollectiveModels& models, const SeriesKey& key, double bytes,
                      int ranks) {
  if (const Series* series = find_series(models, key, bytes)) {
    return own(models, *series, key, bytes, ranks);
  }
  const std::optional<NodeNetwork>& network = platform_of(models, key.on_device).between_nodes;
  if (!network) {
    Estimate inside = inside_ns(models, key, bytes, ranks);
    inside.model = "one node: " + inside.model;
    guess(inside, kNoNetwork);
    inside.low_ns = inside.ns;  // a slower network cannot shorten the time
    return inside;
  }
  Estimate slower = known(between_ns(*network, key.kind, bytes, ranks, key.nodes), "");
  widen(slower, et_schema::root_sum_square(network->width, kOtherNodes));
  // Both levels transfer at once. The model of one node is queried for the ranks of a node.
  const NodeLevel level = node_level(key.kind, bytes, ranks, key.nodes);
  if (level.ranks > 1) {
    Estimate inside = inside_ns(models, key, level.bytes, level.ranks);
    if (inside.ns > slower.ns) {
      slower = std::move(inside);
    }
  }
  slower.model = "two_levels";
  slower.extrapolated = true;
  return slower;
}

}  // namespace

CollectiveModels fit_collectives(const std::vector<CollectiveRow>& rows) {
  std::map<SeriesKey, std::vector<CollectiveRow>> by_key;
  std::map<bool, std::vector<CollectiveRow>> by_place;
  for (const CollectiveRow& row : rows) {
    if (row.ranks > 1 && !is_free(row.kind)) {
      by_key[{row.kind, row.on_device, row.nodes, row.dtype}].push_back(row);
      by_place[row.on_device].push_back(row);
    }
  }
  CollectiveModels models;
  for (const auto& [key, of_key] : by_key) {
    models.series.push_back(fit_series(key, of_key));
  }
  for (const auto& [on_device, of_place] : by_place) {
    models.platforms.push_back(fit_platform(on_device, of_place));
  }
  return models;
}

Estimate estimate(const CollectiveModels& models, const GroupComm& call) {
  if (is_free(call.kind)) {
    return known(0, "no communication");
  }
  if (models.series.empty()) {
    throw et_schema::usage_error(
        "the platform has no measured communication",
        {.field = "collectives",
         .expected = "rows of at least one kind",
         .got = "none",
         .hint = "measure some (calibrate under mpirun), or add the output of nccl-tests"});
  }
  SeriesKey key{call.kind, call.on_device, call.nodes, call.dtype};
  auto bytes = static_cast<double>(call.bytes);
  if (et_schema::traits(call.kind).sizes == et_schema::CommSizes::kSplits) {
    if (!call.sent_bytes.empty()) {
      bytes = equal_parts_bytes(call.sent_bytes, call.ranks);
    }
    SeriesKey equal = key;
    equal.kind = CommKind::kAllToAll;
    if (find_series(models, equal, bytes) != nullptr) {
      key = equal;
    }
  }
  // A group of one rank sends nothing but still calls: at most the latency of one step.
  const int ranks = std::max(call.ranks, 2);
  Estimate answer = call.nodes > 1 ? across_nodes(models, key, bytes, ranks)
                                   : inside_ns(models, key, bytes, ranks);
  if (call.ranks < 2) {
    answer = inside_ns(models, key, 0, 2);
    answer.low_ns = 0;
    answer.model = "one rank: " + answer.model;
    answer.modelled = false;
  }
  return answer;
}

}  // namespace understudy::predictor
