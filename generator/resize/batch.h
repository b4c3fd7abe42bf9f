#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// Another batch size: sizes that grow with the batch grow from `from` to `to`.
struct BatchSize {
  std::int64_t from = 0;
  std::int64_t to = 0;
  /// --size: `from` may be any dimension, such as a sequence length. So several dimensions of one
  /// tensor may grow.
  bool anywhere = false;
  /// --world-size: `from` and `to` are numbers of ranks that share parameters. These are a rank's
  /// parts, each with the whole into which it is gathered or from which it is scattered.
  std::vector<std::pair<et_schema::SlotId, et_schema::SlotId>> parts = {};
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

/// What a user should know of calls of one operator.
struct BatchNote {
  std::string name;
  std::uint64_t count = 0;
  std::string note;
};

/// Runs a program's calls with another size, and returns which tensors and numbers change, or what
/// cannot.
using AskSizes = std::function<std::vector<et_schema::OtherSize>(const et_schema::Program& program,
                                                                 const BatchSize& batch)>;

struct ScaledBatch {
  et_schema::Program program;
  std::vector<BatchChange> changes;  ///< in order of names
  std::vector<BatchNote> notes;      ///< in order of names
};

/// Returns the program with another batch size. The batch is the leading dimension of externals
/// that have that size and that the step does not write; with BatchSize::anywhere, any dimension of
/// that size. `ask` tells what follows (docs/prediction.md, "What if"). Shapes, strides, storages
/// and numbers that are sizes get the new size; value rules and recorded times stay as they are.
///
/// Throws Error (bad input) with all operators that cannot run with it; also if no tensor has that
/// size.
[[nodiscard]] ScaledBatch with_batch_size(const et_schema::Program& program, const BatchSize& batch,
                                          int rank, const AskSizes& ask);

/// A benchmark with another batch size, and the changes.
struct BatchedBench {
  et_schema::Bench bench;
  std::vector<std::vector<BatchChange>> changes;  ///< by rank
  std::vector<std::vector<BatchNote>> notes;      ///< by rank
  /// Operators that lost what was recorded below them: the operators themselves were run.
  std::uint64_t dropped_bodies = 0;
};

/// Returns the benchmark with another batch size (with_batch_size()), for replay. Value rules that
/// count elements follow the new size. Recorded times are removed, because they belong to the
/// recorded size. Indices keep their recorded distribution over rows, in a longer or shorter list.
/// Throws Error (bad input) as with_batch_size() does, and if a value rule cannot follow.
[[nodiscard]] BatchedBench bench_with_batch_size(et_schema::Bench bench, const BatchSize& batch,
                                                 const AskSizes& ask);

}  // namespace understudy::generator
