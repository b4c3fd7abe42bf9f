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
  double link_bytes = 0;     ///< bytes through each rank's link: nccl-tests' bus factor times S
  double reduced_bytes = 0;  ///< bytes that each rank reduces
};
[[nodiscard]] Traffic traffic_of(CommKind kind, double bytes, int ranks);

/// The part of a communication over `nodes` that stays within one node: the node's ranks, and the
/// size at which a communication of these ranks alone has as many link bytes. A ring uses the links
/// of all ranks. An exchange keeps only the parts between the node's own ranks.
struct NodeLevel {
  int ranks = 1;
  double bytes = 0;
};
[[nodiscard]] NodeLevel node_level(CommKind kind, double bytes, int ranks, int nodes);
/// Returns the number of sequential messages between nodes.
[[nodiscard]] double node_steps(CommKind kind, int nodes);
/// Returns the bytes that leave the busiest node if ranks are spread evenly over `nodes`. For a
/// ring: one rank's link bytes. For exchanges between all pairs: the sum over the node's ranks.
[[nodiscard]] double node_bytes(CommKind kind, double bytes, int ranks, int nodes);

/// Returns the size of an all-to-all with equal parts that loads its busiest link as these splits
/// do: the most that a rank sends to others or receives from them, times n / (n - 1). `sent_bytes`
/// must have ranks x ranks elements.
[[nodiscard]] double equal_parts_bytes(const std::vector<std::int64_t>& sent_bytes, int ranks);

/// Returns the other kinds whose times can stand in for `kind`, the most similar first.
[[nodiscard]] std::vector<CommKind> similar_kinds(CommKind kind);

/// Returns the size at which `other` has as many link bytes per step as `kind` at `bytes`.
[[nodiscard]] double similar_bytes(CommKind kind, double bytes, int ranks, CommKind other);

}  // namespace understudy::predictor
