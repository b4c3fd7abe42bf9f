#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "replayer/calibrator/measure/collectives.h"

namespace understudy::calibrator {

/// The communications and sizes of a sweep, with nccl-tests' conventions and defaults.
struct SweepOptions {
  std::vector<et_schema::CommKind> kinds;
  std::int64_t least_bytes = std::int64_t{32} << 20U;
  std::int64_t most_bytes = std::int64_t{32} << 20U;
  std::int64_t factor = 2;  ///< ratio of successive sizes, at least 2
  int warmup = 1;           ///< untimed calls first
  int iterations = 20;
};

/// Results of one size, out of place or in place.
struct SweptPlace {
  double ns = 0;           ///< per call: mean over successive iterations, and ranks
  std::int64_t wrong = 0;  ///< wrong elements in the results of all ranks
};

/// A line of nccl-tests' table: float32, sums, root 0, all ranks; a send is from rank 0 to 1.
struct SweptSize {
  CollectiveCall call;                     ///< its bytes are a multiple of one element per rank
  std::optional<SweptPlace> out_of_place;  ///< empty if the communicator rejects it
  std::optional<SweptPlace> in_place;      ///< empty if nccl-tests has no such variant
};

/// Returns the sizes of the sweep that fit into the ranks' memory.
[[nodiscard]] std::vector<std::int64_t> sweep_sizes(const SweepOptions& options,
                                                    std::int64_t fitting_bytes);

/// Runs the sweep; checks each result before it is timed. All ranks of the job, two or more, must
/// call it together; each receives all sizes. Ends early if `is_interrupted` is true on any rank,
/// with the sizes that are done. Throws Error (usage) if no size fits into memory.
[[nodiscard]] std::vector<SweptSize> sweep_collectives(backends::Job& job, CollectiveRoute route,
                                                       const SweepOptions& options,
                                                       const std::function<bool()>& is_interrupted,
                                                       const CollectiveProgress& progress);

}  // namespace understudy::calibrator
