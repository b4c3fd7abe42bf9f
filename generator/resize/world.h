#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// What the ranks of a process group divide among themselves. It decides what another number of
/// ranks changes (docs/compose.md, "generate --world-size").
enum class GroupKind : std::uint8_t {
  kData,      ///< the batch: each rank has the whole model
  kSharded,   ///< the batch, and each parameter: FSDP, ZeRO
  kExpert,    ///< experts or embedding tables, whose rows are exchanged by all_to_all
  kTensor,    ///< each layer, or the sequence
  kPipeline,  ///< the layers, or what goes round from rank to rank
};
/// "data", "sharded", "expert", "tensor", "pipeline".
[[nodiscard]] std::string_view to_string(GroupKind kind);
/// Whether its number of ranks follows the job's; else it stays.
[[nodiscard]] constexpr bool follows_job(GroupKind kind) {
  return kind <= GroupKind::kExpert;
}

/// By name or description of a group.
using GroupKinds = std::map<std::string, GroupKind>;
/// Adds "NAME=KIND". Throws Error (usage).
void add_group_kind(std::string_view text, GroupKinds& kinds);

/// Another number of ranks.
struct WorldSize {
  int ranks = 0;              ///< 0: ranks_per_program times the recorded ones
  int ranks_per_program = 0;  ///< as many do the same, side by side; 0: they take turns
  GroupKinds kinds = {};      ///< what the user says of groups
  /// Ranks that do the same share a program, though places in memory and remainders of splits are
  /// one rank's then: enough for a simulation, which no rank runs.
  bool shares_programs = false;
};

/// A job on another number of ranks.
struct ScaledWorld {
  std::vector<et_schema::Program> programs;  ///< each once, with the recorded times of its calls
  std::vector<std::uint32_t> program_of;     ///< by rank
  std::vector<std::size_t> source_of;        ///< by rank: the program of the benchmark
  std::vector<et_schema::ProcessGroup> groups;
  std::vector<int> recorded_ranks;   ///< by group: how many it had
  et_schema::ScaledJob scaled;       ///< what the rules were
  bool has_other_shapes = false;     ///< of tensors of operators, not of communication alone
  std::uint64_t dropped_bodies = 0;  ///< what was recorded below operators: no rule tells its sizes
};

/// The benchmark's job on another number of ranks, each with the batch that it has now. Ranks that
/// differ only along the axis that grows or shrinks do what the recorded ones on that axis did. One
/// recorded rank of a larger job stands for those that are not there. Throws Error (bad input), by
/// name, where no rule covers a group, a call or an operator, with the sizes that would work.
[[nodiscard]] ScaledWorld with_world_size(const et_schema::Bench& bench, const WorldSize& size);

/// The benchmark of that job, to replay. The recorded times of communications that are of another
/// size are left out, and all of them where operators have other shapes.
[[nodiscard]] et_schema::Bench bench_of(const et_schema::Bench& recorded, ScaledWorld world,
                                        const WorldSize& size);

}  // namespace understudy::generator
