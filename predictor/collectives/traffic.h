#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/comms.h"
#include "predictor/calls/costs.h"

namespace understudy::predictor {

/// Latencies of NCCL's low-latency protocol by its tuning model (src/graph/tuning.cc of NCCL 2.19,
/// in us: 6.6 a call, 2.7 a step of a ring between nodes, 5 of a tree, 1.8 x 0.6 within a node),
/// and 10 GB/s: assumed if nothing was measured.
inline constexpr double kAssumedCallNs = 6'600;
inline constexpr double kAssumedStepNs = 2'700;
inline constexpr double kAssumedNsPerByte = 0.1;
inline constexpr double kTreeStep = 1.85;       ///< in steps of a ring
inline constexpr double kStepWithinNode = 0.4;  ///< in steps between nodes

/// Returns the sequential messages of a small call on equally full nodes, as steps between nodes:
/// of a ring, or of a chain in each node and a tree between them if that is less.
[[nodiscard]] double steps_of(CommKind kind, int ranks, double nodes, double tree_step = kTreeStep);

/// Returns the bytes through each rank's link: nccl-tests' bus factor times the call's size
/// (comm_traits.h, CommBytes).
[[nodiscard]] double link_bytes(CommKind kind, double bytes, int ranks);

/// Returns what a call takes by these constants if each rank is a node.
[[nodiscard]] double assumed_ns(CommKind kind, double bytes, int ranks);

/// The same as an estimate. Not modelled: the interval is a factor of ten on either side.
[[nodiscard]] Estimate assumed_communication(const GroupComm& call);

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
