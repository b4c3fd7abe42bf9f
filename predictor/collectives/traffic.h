#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/comms.h"
#include "predictor/calls/costs.h"

namespace understudy::predictor {

/// Where nothing was measured: of any network, for each step, and 10 GB/s.
inline constexpr double kAssumedStepNs = 10'000;
inline constexpr double kAssumedNsPerByte = 0.1;

/// What a communication does to the network, by its algorithm: bytes as on a ring or between all
/// pairs, latency as on a tree, which small messages take.
/// All in units of a call's size S (comm_traits.h, CommBytes) and of n ranks.
struct Traffic {
  double steps = 0;  ///< messages one after the other: log2 n, twice for all-reduce; between all
                     ///< pairs n - 1, one for each
  double link_bytes = 0;     ///< through each rank's link: nccl-tests' bus factor times S
  double reduced_bytes = 0;  ///< that each rank combines
};
[[nodiscard]] Traffic traffic_of(CommKind kind, double bytes, int ranks);

/// The part of a communication over `nodes` that stays within one: the ranks there, and the size at
/// which a communication of these alone has as many link bytes. A ring goes through all ranks'
/// links; of an exchange only the parts for the node's own ranks stay.
struct NodeLevel {
  int ranks = 1;
  double bytes = 0;
};
[[nodiscard]] NodeLevel node_level(CommKind kind, double bytes, int ranks, int nodes);
/// Messages between nodes, one after the other.
[[nodiscard]] double node_steps(CommKind kind, int nodes);
/// The bytes that leave the busiest node, if the ranks are spread evenly over `nodes`: a ring's
/// link bytes once; for exchanges between all pairs those of all ranks of the node.
[[nodiscard]] double node_bytes(CommKind kind, double bytes, int ranks, int nodes);

/// The size of an all-to-all of equal parts whose busiest link carries as much as these splits'
/// does: the most that a rank sends to others or gets from them, times n / (n - 1).
/// `sent_bytes` has ranks x ranks elements.
[[nodiscard]] double equal_parts_bytes(const std::vector<std::int64_t>& sent_bytes, int ranks);

/// Kinds to take a communication's time from, the likest first, itself not among them.
[[nodiscard]] std::vector<CommKind> similar_kinds(CommKind kind);

/// The size at which `other` has as many link bytes a step as `kind` has at `bytes`.
[[nodiscard]] double similar_bytes(CommKind kind, double bytes, int ranks, CommKind other);

}  // namespace understudy::predictor
