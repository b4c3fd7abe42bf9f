#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "predictor/calls/costs.h"

namespace understudy::predictor {

/// The ranks that are simulated together. Ranks with the same work share a program.
struct Job {
  std::vector<et_schema::ProcessGroup> groups;
  std::vector<const Program*> programs;   ///< distinct programs; they must outlive the job
  std::vector<std::uint32_t> program_of;  ///< by rank
  /// By rank: its groups in place of those that its program names; empty: all as named.
  std::vector<et_schema::OwnGroups> own_groups = {};
  /// By rank: start of its first iteration; empty: all start together.
  std::vector<std::int64_t> start_ns = {};
  /// By rank and communication: true for a send that the program joins before its receive can have
  /// started. Empty: no such send.
  std::vector<std::vector<bool>> kept_apart = {};
  /// The ranks are part of a larger job: each is simulated alone, and never waits for other ranks.
  bool is_partial = false;
  int ranks_per_node = et_schema::kUsualRanksPerNode;
  /// By group: number of ranks when its calls were recorded; empty: unchanged.
  std::vector<int> recorded_ranks = {};

  [[nodiscard]] int world_size() const { return static_cast<int>(program_of.size()); }
  [[nodiscard]] std::int64_t start_of(int rank) const {
    return start_ns.empty() ? 0 : start_ns[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const Program& program(int rank) const {
    return *programs[program_of[static_cast<std::size_t>(rank)]];
  }
  [[nodiscard]] et_schema::OwnGroups groups_of(int rank) const {
    return own_groups.empty() ? et_schema::OwnGroups() : own_groups[static_cast<std::size_t>(rank)];
  }
  /// Returns the world ranks of a group in group order. A group without a list is the whole world.
  /// In a partial job the ranks are as recorded, including missing ranks.
  [[nodiscard]] std::vector<int> members_of(et_schema::GroupId group) const;
  /// Returns how many nodes these ranks are on.
  [[nodiscard]] int nodes_of(std::vector<int> ranks) const;
};

/// Returns the job of a benchmark, which must outlive it. Throws Error (bad input) unless the
/// programs of all ranks match (matching.h).
[[nodiscard]] Job job_of(const et_schema::Bench& bench);

}  // namespace understudy::predictor
