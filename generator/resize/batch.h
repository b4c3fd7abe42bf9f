#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// Another batch size: sizes that grow with it grow from `from` to `to`.
struct BatchSize {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool anywhere = false;  ///< any size of the data, such as the length of sequences: two dimensions
                          ///< of a tensor may grow
};

/// "--batch" or "--size", by which it was asked for.
[[nodiscard]] std::string_view flag_of(const BatchSize& batch);
/// Reads "64:256", of --size if `anywhere`. Throws Error (usage).
[[nodiscard]] BatchSize parse_batch_size(std::string_view text, bool anywhere = false);

/// What another batch size changes of the calls of one operator.
struct BatchChange {
  std::string name;
  std::uint64_t count = 0;  ///< calls of which a tensor has another shape
  std::string before;  ///< the first one's tensors: "float32[64,8] float32[8,4] -> float32[64,4]"
  std::string after;
};

struct ScaledBatch {
  et_schema::Program program;
  std::vector<BatchChange> changes;  ///< in order of names
};

/// The program as it would be with another batch size. The batch is the leading dimension of what
/// comes from outside, has that size and is not written by the step; rules of operators carry it
/// on (docs/prediction.md, "What if"); with BatchSize::anywhere any dimension of that size. Shapes,
/// strides and storages are those of the new size; numbers among the arguments, value rules and
/// recorded times stay as they are. Throws Error (bad input), by operator: whose rule is not known,
/// or which the batch meets in a way that no rule is for; where nothing has that size.
[[nodiscard]] ScaledBatch with_batch_size(const et_schema::Program& program, const BatchSize& batch,
                                          int rank);

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

}  // namespace understudy::generator
