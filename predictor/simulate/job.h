#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "predictor/calls/costs.h"

namespace understudy::predictor {

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
  /// By group: how many ranks it had when its calls were recorded; empty: as many as now.
  std::vector<int> recorded_ranks = {};

  [[nodiscard]] int world_size() const { return static_cast<int>(program_of.size()); }
  [[nodiscard]] std::int64_t start_of(int rank) const {
    return start_ns.empty() ? 0 : start_ns[static_cast<std::size_t>(rank)];
  }
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
