#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"
#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"

namespace understudy::matching {

/// One communication of a rank's program, reduced to the fields on which other ranks must agree.
/// Sizes are in elements.
struct CommRecord {
  std::uint64_t node = 0;
  et_schema::CommKind kind = et_schema::CommKind::kBarrier;
  et_schema::GroupId group = 0;
  std::int64_t root_or_peer = 0;  ///< rank in the group
  std::string reduce_op = "sum";
  et_schema::DType dtype = et_schema::DType::kUndefined;
  std::vector<std::int64_t> inputs;      ///< size of each input tensor
  std::vector<std::int64_t> outputs;     ///< size of each output tensor
  std::vector<std::int64_t> in_splits;   ///< for all_to_allv, one per rank
  std::vector<std::int64_t> out_splits;  ///< for all_to_allv, one per rank
  /// Indices of earlier calls of this rank that are joined before this one starts: blocking calls,
  /// calls whose wait is recorded, and calls whose tensors something touches.
  std::vector<std::uint32_t> joined_before;
  bool operator==(const CommRecord&) const = default;
};

/// The communications of one rank, in order of issue.
struct RankComms {
  int rank = 0;
  std::vector<CommRecord> calls;
  bool operator==(const RankComms&) const = default;
};

/// Collects a program's communications. `groups` are the benchmark's. Throws Error (bad input): a
/// group that does not exist, splits that do not add up to their tensor.
[[nodiscard]] RankComms comms_of(const et_schema::Program& program, int rank,
                                 const std::vector<et_schema::ProcessGroup>& groups,
                                 int world_size);

/// Converts to a text for other ranks, and back. parse_rank_comms throws Error (bad input) on any
/// text that to_text does not write.
[[nodiscard]] std::string to_text(const RankComms& comms);
[[nodiscard]] RankComms parse_rank_comms(std::string_view text);

/// The order in which each rank's communications run where they complete one at a time, by rank.
/// Throws Error (bad input) unless the programs of all ranks fit each other, so that a run cannot
/// wait for a call that never comes:
/// - in each group the same collectives in the same order, with the same root, reduction and dtype;
/// - sizes that agree: equal ones, parts of a gather or scatter, transposed splits;
/// - for each send a receive of the same size and dtype, in order between each two ranks;
/// - no ranks that wait for each other in a circle; a send in such a circle is kept apart instead
///   (CommOrder::kept_apart).
/// The error names both ranks, the node, the field, what was expected and what is there.
/// `ranks[r].rank` must be r.
[[nodiscard]] std::vector<et_schema::CommOrder> match_programs(
    const std::vector<RankComms>& ranks, const std::vector<et_schema::ProcessGroup>& groups);

}  // namespace understudy::matching
