#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/collective_rows/collective_rows.h"

namespace understudy::calibrator {

using et_schema::CollectiveCall;

struct CollectiveLimits {
  std::int64_t least_bytes = 4;
  std::int64_t most_bytes = std::int64_t{1} << 30U;
};

/// Returns a call without bytes for each kind that communicates, in groups of 2, 4, 8 … and all
/// ranks. Element types other than float32 are measured with all_reduce only. `hosts` has the host
/// of each rank.
[[nodiscard]] std::vector<CollectiveCall> collective_areas(const std::vector<std::string>& hosts,
                                                           bool on_device);

/// Returns the sizes to measure of each kind, coarse ones first: in steps of 64, then those between
/// in steps of 8, and of 2.
[[nodiscard]] std::vector<std::int64_t> collective_sizes(const CollectiveLimits& limits);

/// Returns the area's call of about `bytes`: equal parts of an element or more per rank. A barrier
/// has no bytes.
[[nodiscard]] CollectiveCall sized(CollectiveCall area, std::int64_t bytes);

/// Makes a benchmark of these calls, each behind a barrier of all ranks. A call's node id is its
/// number, from 1. Roots are rank 0; a message goes from rank 0 to rank 1. Kinds with pairs of
/// input and output (all_reduce, broadcast, reduce) are in place, as in training. All calls share a
/// rank's memory.
[[nodiscard]] et_schema::Bench make_bench(const std::vector<CollectiveCall>& calls, int world_size);

}  // namespace understudy::calibrator
