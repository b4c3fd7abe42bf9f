#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/bench/bench.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/program.h"

namespace understudy::predictor {

using et_schema::CommKind;
using et_schema::Instruction;
using et_schema::Program;

/// The amount of data that gathers and scatters exchange on another number of ranks.
enum class GatherSize : std::uint8_t {
  kWhole,  ///< the whole keeps its size: each rank has a part of the parameters
  kParts   ///< each rank's part keeps its size: each rank has its own data
};

/// Whether a call exchanges a part for each rank, and some rank keeps all parts in one tensor or
/// list. All-to-alls do not, since each of their parts is for one rank, and messages do not either.
[[nodiscard]] bool is_gather_or_scatter(CommKind kind);

/// The recorded job from which one with another number of ranks is made (what_if/world_size.h).
struct ScaledFrom {
  int ranks = 1;
  GatherSize gathers = GatherSize::kWhole;
};

/// The ranks that are simulated together. Ranks that share a program share its work.
struct Job {
  std::vector<et_schema::ProcessGroup> groups;
  std::vector<const Program*> programs;   ///< each once; they must outlive the job
  std::vector<std::uint32_t> program_of;  ///< by rank
  /// By rank: when it begins its first iteration; empty: all begin at once.
  std::vector<std::int64_t> start_ns = {};
  /// By rank and communication: whether it is a send that the program joins before its receive can
  /// have started. Empty: there is none.
  std::vector<std::vector<bool>> kept_apart = {};
  /// The ranks are part of a larger job. Each runs alone, and the other ranks of its groups arrive
  /// when it does.
  bool is_partial = false;
  int ranks_per_node = et_schema::kUsualRanksPerNode;
  std::optional<ScaledFrom> scaled_from = {};  ///< the job that tensors and splits come from

  [[nodiscard]] int world_size() const { return static_cast<int>(program_of.size()); }
  [[nodiscard]] const Program& program(int rank) const {
    return *programs[program_of[static_cast<std::size_t>(rank)]];
  }
  /// World ranks of a group in group order; a group without a list is the whole world. In a partial
  /// job they are as recorded, missing ranks included.
  [[nodiscard]] std::vector<int> members_of(et_schema::GroupId group) const;
};

/// The job of a benchmark, which must outlive it. Throws Error (bad input) unless all ranks'
/// programs fit each other (matching.h).
[[nodiscard]] Job job_of(const et_schema::Bench& bench);

}  // namespace understudy::predictor
