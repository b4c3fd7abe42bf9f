#include "predictor/collectives/models.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "et_schema/base/interval.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/calls/known_cards.h"
#include "predictor/collectives/traffic.h"

namespace understudy::predictor {
namespace {

// Widths, |ln|, of tables that differ from the call. Those of kinds, types and cards were chosen on
// NCCL's tables of five cards, the others are assumed.
constexpr double kOtherKind = 0.3;  ///< times 1 + StandIn::unlikeness
constexpr double kOtherDtype = 0.2;
constexpr double kOtherCard = 1;
constexpr double kOtherLinks = 2.3;    ///< ln 10: other links may be ten times as fast
constexpr double kOtherPerNode = 0.7;  ///< times |ln ratio of the ranks per node|

bool is_free(CommKind kind) {
  return et_schema::traits(kind).sizes == et_schema::CommSizes::kNoCommunication;
}

bool has_splits(CommKind kind) {
  return et_schema::traits(kind).sizes == et_schema::CommSizes::kSplits;
}

int per_node(const CollectiveCall& call) {
  return call.nodes > 1 ? (call.ranks + call.nodes - 1) / call.nodes : 0;
}

bool are_different_cards(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b && card_model(a) != b && card_model(b) != a;
}

/// A series' answer, and the sum of its widths: the less, the better it suits.
struct Answer {
  Estimate estimate;
  double doubt = 0;
};

Answer answer_of(const Series& series, const CollectiveCall& call, double bytes,
                 const CommPlace& place) {
  const SeriesKey& key = series.key;
  const bool spans_nodes = call.nodes > 1;
  const bool is_kind =
      key.kind == call.kind || (has_splits(call.kind) && key.kind == CommKind::kAllToAll);
  const int ranks = spans_nodes && key.ranks_per_node > 0 ? call.nodes * key.ranks_per_node
                                                          : std::max(call.ranks, 2);
  const StandIn like = is_kind ? StandIn{bytes} : stand_in(call.kind, bytes, ranks, key.kind);
  // Several nodes have as many links more: those that the ranks of one share bound the time.
  const int on_node = spans_nodes && key.ranks_per_node == 0 ? std::max(per_node(call), 2) : 0;
  Answer answer{scaled(estimate(series, like.bytes, ranks, on_node), like.factor), 0};
  Estimate& time = answer.estimate;
  double half_width = std::log(time.high_ns / time.ns);
  answer.doubt = half_width * (1 + like.unlikeness);
  const auto widen = [&](double width) {
    half_width = et_schema::root_sum_square(half_width, width);
    answer.doubt += width;
  };
  std::string differences;
  const auto differ = [&](bool does, double width, const std::string& how) {
    if (does) {
      widen(width);
      differences += how + ": ";
      time.modelled = false;
      time.extrapolated = true;
    }
  };
  differ(are_different_cards(key.device, place.device), kOtherCard, "another card, " + key.device);
  differ(key.on_device != call.on_device, kOtherLinks, key.on_device ? "on devices" : "on hosts");
  const bool has_nodes = key.ranks_per_node > 0;
  differ(has_nodes != spans_nodes, kOtherLinks, spans_nodes ? "one node" : "several nodes");
  differ(spans_nodes && has_nodes && !key.network.empty() && !place.network.empty() &&
             key.network != place.network,
         kOtherLinks, "another network, " + key.network);
  differ(!is_kind, kOtherKind * (1 + like.unlikeness),
         "as " + std::string(et_schema::to_string(key.kind)));
  answer.doubt += is_kind ? 0 : 1;  // a table's own rows come first
  if (key.dtype != call.dtype) {
    widen(kOtherDtype);
  }
  if (spans_nodes && has_nodes && key.ranks_per_node != per_node(call)) {
    widen(kOtherPerNode * std::abs(std::log(static_cast<double>(call.ranks) / ranks)));
    time.extrapolated = true;
  }
  time.model = differences + time.model;
  // A network between nodes does not shorten the time.
  time.low_ns = spans_nodes && !has_nodes ? time.ns : time.ns * std::exp(-half_width);
  time.high_ns = has_nodes && !spans_nodes ? time.ns : time.ns * std::exp(half_width);
  return answer;
}

}  // namespace

std::string card_of(const CollectiveRow& row) {
  return row.device.empty() ? card_model(row.source) : row.device;
}

CollectiveModels fit_collectives(const std::vector<CollectiveRow>& rows) {
  std::map<SeriesKey, std::vector<CollectiveRow>> by_key;
  for (const CollectiveRow& row : rows) {
    if (row.ranks > 1 && !is_free(row.kind)) {
      by_key[{row.kind, row.on_device, per_node(row), row.dtype, card_of(row), row.network}]
          .push_back(row);
    }
  }
  CollectiveModels models;
  for (const auto& [key, of_key] : by_key) {
    models.series.push_back(fit_series(key, of_key));
  }
  return models;
}

Estimate estimate(const CollectiveModels& models, const GroupComm& call, const CommPlace& place) {
  if (is_free(call.kind)) {
    return known(0, "no communication");
  }
  if (models.series.empty()) {
    return assumed_communication(call);
  }
  auto bytes = static_cast<double>(call.bytes);
  if (has_splits(call.kind) && !call.sent_bytes.empty()) {
    bytes = equal_parts_bytes(call.sent_bytes, call.ranks);
  }
  // A group of one rank sends nothing but still calls: at most the latency of one step.
  const bool is_alone = call.ranks < 2;
  std::optional<Answer> best;
  for (const Series& series : models.series) {
    Answer answer = answer_of(series, call, is_alone ? 0 : bytes, place);
    if (!best || answer.doubt < best->doubt) {
      best = std::move(answer);
    }
  }
  Estimate& time = best->estimate;
  if (is_alone) {
    time.low_ns = 0;
    time.model = "one rank: " + time.model;
    time.modelled = false;
  }
  return time;
}

}  // namespace understudy::predictor
