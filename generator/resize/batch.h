#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// Another batch size: sizes that grow with the batch grow from `from` to `to`.
struct BatchSize {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool anywhere = false;  ///< any size, such as a sequence length: two dimensions of a tensor may
                          ///< grow
};

/// Returns the option that requested it, "--batch" or "--size".
[[nodiscard]] std::string_view flag_of(const BatchSize& batch);
/// Parses "64:256"; `anywhere` means --size. Throws Error (usage).
[[nodiscard]] BatchSize parse_batch_size(std::string_view text, bool anywhere = false);

/// How another batch size changes the calls of one operator.
struct BatchChange {
  std::string name;
  std::uint64_t count = 0;  ///< calls with a tensor whose shape changes
  /// Tensors of the first such call: "float32[64,8] float32[8,4] -> float32[64,4]".
  std::string before;
  std::string after;
};

struct ScaledBatch {
  et_schema::Program program;
  std::vector<BatchChange> changes;  ///< in order of names
};

/// Returns the program with another batch size. The batch is the leading dimension of externals
/// that have that size and that the step does not write; with BatchSize::anywhere, any dimension of
/// that size. Rules of operators propagate it (docs/prediction.md, "What if"). Shapes, strides and
/// storages get the new size; numbers among the arguments, value rules and recorded times stay as
/// they are.
///
/// Throws Error (bad input) with the operator's name if no rule is known, or no rule covers its use
/// of the batch; also if no tensor has that size.
[[nodiscard]] ScaledBatch with_batch_size(const et_schema::Program& program, const BatchSize& batch,
                                          int rank);

/// A benchmark with another batch size, and the changes.
struct BatchedBench {
  et_schema::Bench bench;
  std::vector<std::vector<BatchChange>> changes;  ///< by rank
  std::uint64_t dropped_bodies = 0;  ///< recorded below operators, without rules for their sizes
};

/// Returns the benchmark with another batch size (with_batch_size()), for replay. Numbers among
/// arguments that name a size of the call's tensors follow the new size, and so do value rules that
/// count elements. Recorded times are removed, because they belong to the recorded size. Indices
/// keep their recorded distribution over rows, in a longer or shorter list. Throws Error (bad
/// input) as with_batch_size() does, and if a value rule cannot follow.
[[nodiscard]] BatchedBench bench_with_batch_size(et_schema::Bench bench, const BatchSize& batch);

}  // namespace understudy::generator
