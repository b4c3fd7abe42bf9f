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

double assumed_ns(const Traffic& traffic) {
  return kAssumedStepNs * traffic.steps + kAssumedNsPerByte * traffic.link_bytes;
}

}  // namespace

Traffic traffic_of(CommKind kind, double bytes, int ranks) {
  const auto n = static_cast<double>(ranks);
  const double depth = pattern_of(kind) == Pattern::kExchange ? n - 1 : std::log2(n);
  const double steps = et_schema::is_message(kind) ? 1 : phases_of(kind) * depth;
  return {.steps = steps,
          .link_bytes = has_bytes(kind) ? bytes * et_schema::bus_factor(kind, ranks) : 0};
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
  const Traffic ours = traffic_of(kind, bytes, ranks);
  if (!has_bytes(other)) {
    return {0, assumed_ns(ours) / assumed_ns(traffic_of(other, 0, ranks)), unlikeness};
  }
  const double phases = phases_of(kind) / phases_of(other);
  return {ours.link_bytes / phases / traffic_of(other, 1, ranks).link_bytes, phases, unlikeness};
}

}  // namespace understudy::predictor
