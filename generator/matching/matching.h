#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"
#include "et_schema/model/programs.h"
#include "et_schema/model/trace.h"

namespace understudy::matching {

/// One communication of a rank's program, reduced to the fields on which other ranks must agree.
/// Sizes are in elements.
struct CommRecord {
  et_schema::CommKind kind = et_schema::CommKind::kBarrier;
  et_schema::GroupId group = 0;
  std::int64_t root_or_peer = 0;  ///< rank within the group
  bool in_batch = false;          ///< sends and receives: known to be in a batch
  std::string reduce_op = "sum";
  et_schema::DType dtype = et_schema::DType::kUndefined;
  std::vector<std::int64_t> inputs;      ///< elements of each input tensor
  std::vector<std::int64_t> outputs;     ///< elements of each output tensor
  std::vector<std::int64_t> in_splits;   ///< all_to_allv only; one per rank
  std::vector<std::int64_t> out_splits;  ///< all_to_allv only; one per rank
  /// Earlier calls of this rank that must be complete before this one starts, each as a distance in
  /// calls. These are blocking calls, calls with a recorded wait, and calls whose tensors an
  /// instruction accesses in between.
  std::vector<std::uint32_t> joined_before;
  bool operator==(const CommRecord&) const = default;
};

/// The communications of one rank, in order of issue.
struct RankComms {
  std::vector<const CommRecord*> calls;
  std::vector<std::uint64_t> nodes;  ///< by call: the id of its node
};

/// The members of a group.
struct Members {
  std::vector<int> ranks;   ///< world rank, by position in the group
  std::vector<int> places;  ///< position in the group, by world rank; kNoPlace: not in the group
  static constexpr int kNoPlace = -1;
};

/// The communications of all ranks of a job. Equal records are stored once, so that a large job of
/// identical ranks needs little more memory than one rank.
class JobComms {
 public:
  /// `groups` are the benchmark's process groups.
  JobComms(std::span<const et_schema::ProcessGroup> groups, std::size_t world_size);

  /// All communications of the ranks' programs. Throws Error (bad input) if a group does not exist,
  /// or splits do not add up to their tensor.
  JobComms(std::span<const et_schema::ProcessGroup> groups, const et_schema::Programs& programs);

  /// Adds the next call of a rank.
  void add(std::size_t rank, const CommRecord& call, std::uint64_t node);

  [[nodiscard]] const std::vector<RankComms>& ranks() const { return ranks_; }
  [[nodiscard]] std::span<const et_schema::ProcessGroup> groups() const { return groups_; }
  /// Returns the members of a group. A group without a list of ranks is the whole world.
  [[nodiscard]] const Members& members(et_schema::GroupId group) const { return members_[group]; }
  [[nodiscard]] std::size_t distinct() const { return distinct_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const CommRecord& call) const;
  };

  std::span<const et_schema::ProcessGroup> groups_;
  std::vector<Members> members_;  ///< by group
  std::vector<RankComms> ranks_;
  std::unordered_set<CommRecord, Hash> distinct_;
};

/// A rank that cannot reach the end of its program: the call in which it waits, and for which rank.
struct StuckRank {
  std::size_t rank = 0;
  std::uint32_t call = 0;  ///< index of the call that it waits in
  std::size_t waits_for = 0;
  bool operator==(const StuckRank&) const = default;
};

/// Result of matching all ranks' programs.
struct Matching {
  /// The first mismatch of each group's collectives and of the messages between each two ranks. If
  /// there is none, the deadlock of ranks that wait for each other. Empty if the programs match.
  std::vector<et_schema::Error> mismatches;
  std::vector<StuckRank> stuck;  ///< by rank; only with mismatches
  /// By rank: the order in which its communications run if they complete one at a time; only
  /// without mismatches.
  std::vector<et_schema::CommOrder> orders;
};

/// Checks that the programs of all ranks match, so that a run cannot wait for ever:
/// - in each group the same collectives in the same order, with the same root, reduction and dtype;
/// - consistent sizes: equal ones, parts of a gather or scatter, transposed splits;
/// - for each send a receive of the same size and dtype, in order between each two ranks; both in
/// batches or both alone, since NCCL uses different communicators for these;
/// - no deadlock; a send that would cause one is kept apart instead (CommOrder::kept_apart).
/// An error names both ranks, the node, the field, the expected and the actual value, and the last
/// calls of both ranks in that group. Equal calls are compared once. Linear in the calls of all
/// ranks, and in the splits.
[[nodiscard]] Matching match(const JobComms& comms);

/// Returns the orders of match(), by rank: `programs[r]` is rank r's. Throws the first mismatch.
[[nodiscard]] std::vector<et_schema::CommOrder> match_programs(
    const et_schema::Programs& programs, std::span<const et_schema::ProcessGroup> groups);

/// Corrects the peers of sends and receives, group by group, if the recorded communication does not
/// match: some versions of PyTorch recorded another kind of rank. A recorded peer is tried as a
/// rank of the job and, in a group of two, as the other rank. If neither makes the messages of a
/// group match, the group is unchanged. Then, if only one end of a message is in a batch, the other
/// end becomes a batch of its own: the original's group had one communicator for both, like a group
/// that is opened with its device. Each change is a loss of its program (Loss::kRepairedMessages).
/// Does nothing without sends and receives. Throws Error as JobComms::add() does.
void repair_messages(et_schema::Programs& programs,
                     std::span<const et_schema::ProcessGroup> groups);

/// Converts an order to text for its rank, short if it is the program's own order, and back.
/// parse_order throws Error (bad input) on text that to_text does not write.
[[nodiscard]] std::string to_text(const et_schema::CommOrder& order);
[[nodiscard]] et_schema::CommOrder parse_order(const std::string& text);

}  // namespace understudy::matching
