#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/program.h"
#include "generator/resize/batch.h"

namespace understudy::generator {

/// What the ranks of a process group divide. Decides how another number of ranks changes the group
/// (docs/compose.md, "generate --world-size").
enum class GroupKind : std::uint8_t {
  kData,      ///< the batch; each rank has the whole model
  kSharded,   ///< the batch and each parameter (FSDP, ZeRO)
  kExpert,    ///< experts or embedding tables, with rows exchanged by all_to_all
  kTensor,    ///< each layer, or the sequence
  kPipeline,  ///< the layers, or data that circulates among ranks
};
/// "data", "sharded", "expert", "tensor", "pipeline".
[[nodiscard]] std::string_view to_string(GroupKind kind);
/// Returns true if the group's size follows the job's; otherwise the size is fixed.
[[nodiscard]] constexpr bool follows_job(GroupKind kind) {
  return kind <= GroupKind::kExpert;
}

/// By name or description of a group.
using GroupKinds = std::map<std::string, GroupKind>;
/// Adds "NAME=KIND". Throws Error (usage).
void add_group_kind(std::string_view text, GroupKinds& kinds);

/// Another number of ranks.
struct WorldSize {
  int ranks = 0;
  GroupKinds kinds = {};  ///< kinds that the user named
  /// Ranks that do the same share a program. Memory addresses and remainders of splits are then
  /// those of one rank, which is enough for a simulation.
  bool shares_programs = false;
};

/// A job on another number of ranks.
struct ScaledWorld {
  std::vector<et_schema::Program> programs;      ///< distinct, with the recorded times of calls
  std::vector<std::uint32_t> program_of;         ///< by rank
  std::vector<et_schema::OwnGroups> own_groups;  ///< by rank: for those that its program names
  std::vector<std::size_t> source_of;            ///< by rank: the program of the benchmark
  std::vector<et_schema::ProcessGroup> groups;
  std::vector<int> recorded_ranks;   ///< by group: its recorded size
  et_schema::ScaledJob scaled;       ///< the rules that were applied
  bool has_other_shapes = false;     ///< of operators' tensors, not only of communication
  std::uint64_t dropped_bodies = 0;  ///< recorded below operators of other sizes
};

/// Returns the benchmark's job on another number of ranks, with the same batch for each rank. Each
/// new rank copies the recorded rank with the same place on the other axes. Ranks missing from the
/// benchmark are replaced by a recorded rank of the same pipeline stage. Throws Error (bad input)
/// with the name of a group, call or operator that cannot follow, and with the sizes that would
/// work. `ask` is called only if parameters are sharded: which tensors and numbers change with
/// a rank's part.
[[nodiscard]] ScaledWorld with_world_size(const et_schema::Bench& bench, const WorldSize& size,
                                          const AskSizes& ask);

/// Returns the benchmark of that job, for replay. Removes the recorded times of resized
/// communications, and all recorded times if operators have other shapes.
[[nodiscard]] et_schema::Bench bench_of(const et_schema::Bench& recorded, ScaledWorld world,
                                        const WorldSize& size);

}  // namespace understudy::generator
