#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/bench/bench.h"
#include "predictor/what_if/batch.h"

namespace understudy::predictor {

/// A benchmark with another batch size, and what that changed.
struct BatchedBench {
  et_schema::Bench bench;
  std::vector<std::vector<BatchChange>> changes;  ///< by rank
  std::uint64_t dropped_bodies = 0;  ///< what was recorded below operators: no rule tells its sizes
};

/// The benchmark of a job with another batch size (with_batch_size()), to replay: numbers among
/// arguments that name a size of the call's tensors follow it, and so do the rules of values that
/// count elements. Recorded times are left out, for they are of the recorded size. Which rows an
/// index meets how often stays as captured, in a longer or shorter list. Throws Error (bad input)
/// as with_batch_size() does, and where a rule of values cannot follow.
[[nodiscard]] BatchedBench bench_with_batch_size(et_schema::Bench bench, const BatchSize& batch);

}  // namespace understudy::predictor
