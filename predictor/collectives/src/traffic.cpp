#include "predictor/collectives/traffic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "et_schema/base/assert.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::predictor {
namespace {

using Pattern = et_schema::CommPattern;

Pattern pattern_of(CommKind kind) {
  return et_schema::traits(kind).pattern;
}

double phases_of(CommKind kind) {
  return pattern_of(kind) == Pattern::kTwoRings || kind == CommKind::kBarrier ? 2 : 1;
}

}  // namespace

double steps_of(CommKind kind, int ranks, double nodes, double tree_step) {
  const double on_node = ranks / nodes;
  switch (pattern_of(kind)) {
    case Pattern::kMessage:
      return 1;
    case Pattern::kExchange:  // Within a node all messages are under way at once.
      return kStepWithinNode * std::log2(on_node) + nodes - 1;
    case Pattern::kRing:
      return kStepWithinNode * (ranks - nodes) + nodes - 1;
    default:
      return phases_of(kind) *
             std::min(kStepWithinNode * (ranks - nodes) + nodes - 1,
                      kStepWithinNode * (on_node - 1) + tree_step * std::log2(nodes));
  }
}

double link_bytes(CommKind kind, double bytes, int ranks) {
  return pattern_of(kind) == Pattern::kNothing ? 0 : bytes * et_schema::bus_factor(kind, ranks);
}

double assumed_ns(CommKind kind, double bytes, int ranks) {
  return kAssumedCallNs + kAssumedStepNs * steps_of(kind, ranks, ranks) +
         kAssumedNsPerByte * link_bytes(kind, bytes, ranks);
}

Estimate assumed_communication(const GroupComm& call) {
  return guessed(assumed_ns(call.kind, static_cast<double>(call.bytes), std::max(call.ranks, 2)),
                 "latency and bandwidth of any network");
}

double equal_parts_bytes(const std::vector<std::int64_t>& sent_bytes, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  UNDERSTUDY_ASSERT(sent_bytes.size() == n * n);
  std::vector<double> sent(n);
  std::vector<double> received(n);
  for (std::size_t i = 0; i < n * n; ++i) {
    const double bytes = i / n == i % n ? 0.0 : static_cast<double>(sent_bytes[i]);
    sent[i / n] += bytes;
    received[i % n] += bytes;
  }
  const double most = std::max(std::ranges::max(sent), std::ranges::max(received));
  return ranks > 1 ? most * ranks / (ranks - 1) : 0;
}

StandIn stand_in(CommKind kind, double bytes, int ranks, CommKind other) {
  const int unlikeness =
      std::abs(static_cast<int>(pattern_of(kind)) - static_cast<int>(pattern_of(other)));
  if (pattern_of(other) == Pattern::kNothing) {
    return {0, assumed_ns(kind, bytes, ranks) / assumed_ns(other, 0, ranks), unlikeness};
  }
  const double phases = phases_of(kind) / phases_of(other);
  return {link_bytes(kind, bytes, ranks) / phases / link_bytes(other, 1, ranks), phases,
          unlikeness};
}

}  // namespace understudy::predictor
