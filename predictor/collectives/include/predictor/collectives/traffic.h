#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/comms.h"
#include "predictor/costs/costs.h"

namespace understudy::predictor {

/// What a communication does to the network, by its algorithm on a ring or between all pairs.
/// All in units of a call's size S (comm_traits.h, CommBytes) and of n ranks.
struct Traffic {
  double steps = 0;          ///< messages one after the other: (n - 1), twice for all-reduce
  double link_bytes = 0;     ///< through each rank's link: nccl-tests' bus factor times S
  double reduced_bytes = 0;  ///< that each rank combines
};
[[nodiscard]] Traffic traffic_of(et_schema::CommKind kind, double bytes, int ranks);

/// The bytes that leave the busiest node, if the ranks are spread evenly over `nodes`: a ring's
/// link bytes once; for exchanges between all pairs those of all ranks of the node.
[[nodiscard]] double node_bytes(et_schema::CommKind kind, double bytes, int ranks, int nodes);

/// The size of an all-to-all of equal parts whose busiest link carries as much as these splits'
/// does: the most that a rank sends to others or gets from them, times n / (n - 1).
/// `sent_bytes` has ranks x ranks elements.
[[nodiscard]] double equal_parts_bytes(const std::vector<std::int64_t>& sent_bytes, int ranks);

/// Kinds to take a communication's time from, the likest first, itself not among them.
[[nodiscard]] std::vector<et_schema::CommKind> similar_kinds(et_schema::CommKind kind);

/// The size at which `other` has as many link bytes a step as `kind` has at `bytes`.
[[nodiscard]] double similar_bytes(et_schema::CommKind kind, double bytes, int ranks,
                                   et_schema::CommKind other);

}  // namespace understudy::predictor
