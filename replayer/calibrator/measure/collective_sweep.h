#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "replayer/calibrator/measure/collectives.h"

namespace understudy::calibrator {

/// Which communications are swept over which sizes, with nccl-tests' conventions and defaults.
struct SweepOptions {
  std::vector<et_schema::CommKind> kinds;
  std::int64_t least_bytes = std::int64_t{32} << 20U;
  std::int64_t most_bytes = std::int64_t{32} << 20U;
  std::int64_t factor = 2;  ///< from one size to the next, at least 2
  int warmup = 1;           ///< calls before those that are timed
  int iterations = 20;
};

/// A size out of place, or in place.
struct SweptPlace {
  double time_us = 0;  ///< of a call: the mean over the iterations, one behind the other, and ranks
  double alg_bw = 0;   ///< size ÷ time, in GB/s (1e9)
  double bus_bw = 0;   ///< times the kind's bus factor
  std::int64_t wrong = 0;  ///< elements of all ranks' results that are not what they should be
};

/// A line of nccl-tests' table: float32, sums, root 0, all ranks; of a send from rank 0 to rank 1.
struct SweptSize {
  et_schema::CommKind kind = et_schema::CommKind::kAllReduce;
  std::int64_t bytes = 0;  ///< nccl-tests' size: a multiple of the ranks' elements
  std::int64_t count = 0;  ///< elements, of kinds that move a part for each rank those of one part
  std::optional<SweptPlace> out_of_place;  ///< nothing where the communicator refuses the call
  std::optional<SweptPlace> in_place;      ///< nothing of kinds that nccl-tests has out of place
};

/// The sizes that options ask for, those apart that are too large for the ranks' memory.
[[nodiscard]] std::vector<std::int64_t> sweep_sizes(const SweepOptions& options,
                                                    std::int64_t fitting_bytes);

/// Measures, and checks each result before it is timed. All ranks of the job, two or more, call it
/// together; each gets all sizes. Ends where `is_interrupted` is true on any rank, with the sizes
/// that are done. Throws Error (usage) if no size fits into memory.
[[nodiscard]] std::vector<SweptSize> sweep_collectives(backends::Job& job, CollectiveRoute route,
                                                       const SweepOptions& options,
                                                       const std::function<bool()>& is_interrupted,
                                                       const CollectiveProgress& progress);

}  // namespace understudy::calibrator
