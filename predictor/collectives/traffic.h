#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/comms.h"
#include "predictor/calls/costs.h"

namespace understudy::predictor {

/// Assumed for any network if nothing was measured: 10 us per step, and 10 GB/s.
inline constexpr double kAssumedStepNs = 10'000;
inline constexpr double kAssumedNsPerByte = 0.1;

/// Traffic of a communication, derived from its algorithm: bytes of a ring or of all pairs, latency
/// of a tree, which small messages use. Units: a call's size S (comm_traits.h, CommBytes), n ranks.
struct Traffic {
  /// Sequential messages: log2 n, twice that for all-reduce; n - 1 between all pairs.
  double steps = 0;
  double link_bytes = 0;  ///< bytes through each rank's link: nccl-tests' bus factor times S
};
[[nodiscard]] Traffic traffic_of(CommKind kind, double bytes, int ranks);

/// Returns the size of an all-to-all with equal parts that loads its busiest link as these splits
/// do: the most that a rank sends to others or receives from them, times n / (n - 1). `sent_bytes`
/// must have ranks x ranks elements.
[[nodiscard]] double equal_parts_bytes(const std::vector<std::int64_t>& sent_bytes, int ranks);

/// A call of another kind whose time, multiplied by `factor`, stands in for a kind's time.
struct StandIn {
  double bytes = 0;
  double factor = 1;
  int unlikeness = 0;  ///< 0 if data moves in the same pattern, 1 or more otherwise
};
/// Returns the call of `other` with as many link bytes per phase. `factor` is the ratio of phases:
/// an all-reduce has two, an all-gather one.
[[nodiscard]] StandIn stand_in(CommKind kind, double bytes, int ranks, CommKind other);

}  // namespace understudy::predictor
