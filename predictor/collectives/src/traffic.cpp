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

bool has_bytes(CommKind kind) {
  return pattern_of(kind) != Pattern::kNothing;
}

double phases_of(CommKind kind) {
  return pattern_of(kind) == Pattern::kTwoRings || kind == CommKind::kBarrier ? 2 : 1;
}

/// Returns the bytes that rank `of` sends to others, or receives from them.
double exchanged(const std::vector<std::int64_t>& sent_bytes, int ranks, int of, bool is_sent) {
  double sum = 0;
  for (int other = 0; other < ranks; ++other) {
    const int from = is_sent ? of : other;
    const int to = is_sent ? other : of;
    sum += other == of
               ? 0.0
               : static_cast<double>(sent_bytes[static_cast<std::size_t>(from * ranks + to)]);
  }
  return sum;
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
  return has_bytes(kind) ? bytes * et_schema::bus_factor(kind, ranks) : 0;
}

double assumed_ns(CommKind kind, double bytes, int ranks) {
  return kAssumedCallNs + kAssumedStepNs * steps_of(kind, ranks, ranks) +
         kAssumedNsPerByte * link_bytes(kind, bytes, ranks);
}

double equal_parts_bytes(const std::vector<std::int64_t>& sent_bytes, int ranks) {
  UNDERSTUDY_ASSERT(sent_bytes.size() ==
                    static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  double most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    most = std::max({most, exchanged(sent_bytes, ranks, rank, true),
                     exchanged(sent_bytes, ranks, rank, false)});
  }
  return ranks > 1 ? most * ranks / (ranks - 1) : 0;
}

StandIn stand_in(CommKind kind, double bytes, int ranks, CommKind other) {
  const int unlikeness =
      std::abs(static_cast<int>(pattern_of(kind)) - static_cast<int>(pattern_of(other)));
  if (!has_bytes(other)) {
    return {0, assumed_ns(kind, bytes, ranks) / assumed_ns(other, 0, ranks), unlikeness};
  }
  const double phases = phases_of(kind) / phases_of(other);
  return {link_bytes(kind, bytes, ranks) / phases / link_bytes(other, 1, ranks), phases,
          unlikeness};
}

}  // namespace understudy::predictor
