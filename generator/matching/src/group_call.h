#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/matching/matching.h"

namespace understudy::matching {

inline constexpr const char* kSummary = "the programs of the ranks do not match";
// A call of plain Gloo, whose group is not recorded, is attributed to the whole job.
inline constexpr const char* kHint =
    "the traces of all ranks must be of the same step, and say which group a call is of (plain "
    "Gloo's do not: scripts/capture --comms nccl-form)";

using Sizes = std::vector<std::int64_t>;

/// "1024 elements", "[3, 5] elements".
[[nodiscard]] std::string text_of(const Sizes& sizes);

/// "rank 2's calls in group 'tp': 7 allreduce float32 1024 (node 30); 8 …": the last five calls up
/// to `last`, an index into `calls`, numbered within the group. Messages have their own numbers.
[[nodiscard]] std::string last_calls(const JobComms& comms, int rank, et_schema::GroupId group,
                                     const std::vector<std::uint32_t>& calls, std::size_t last);

/// A rank and its calls in a group: collectives, or messages of one direction to one peer.
struct CallsOfRank {
  int rank = 0;
  std::vector<std::uint32_t> calls;
};

/// Throws Error (bad input) unless the calls of one communication match. `calls` are the calls of
/// the members, in group order; each is at `position` among the calls of its member.
void check_group_call(const JobComms& comms, et_schema::GroupId group,
                      const std::vector<CallsOfRank>& members, std::size_t position,
                      const std::vector<const CommRecord*>& calls);

}  // namespace understudy::matching
