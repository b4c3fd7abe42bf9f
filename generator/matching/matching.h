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
  std::int64_t root_or_peer = 0;  ///< rank in the group
  bool in_batch = false;          ///< of a send or receive: whether it is known to be in a batch
  std::string reduce_op = "sum";
  et_schema::DType dtype = et_schema::DType::kUndefined;
  std::vector<std::int64_t> inputs;      ///< size of each input tensor
  std::vector<std::int64_t> outputs;     ///< size of each output tensor
  std::vector<std::int64_t> in_splits;   ///< for all_to_allv, one per rank
  std::vector<std::int64_t> out_splits;  ///< for all_to_allv, one per rank
  /// Which earlier calls of this rank are joined before this one starts, by how many calls ago they
  /// were started: blocking calls, calls whose wait is recorded, and calls whose tensors something
  /// touches.
  std::vector<std::uint32_t> joined_before;
  bool operator==(const CommRecord&) const = default;
};

/// The communications of one rank, in order of issue.
struct RankComms {
  std::vector<const CommRecord*> calls;
  std::vector<std::uint64_t> nodes;  ///< by call: the id of its node
};

/// The members of a group, by world rank and by place in the group.
struct Members {
  std::vector<int> ranks;   ///< by place
  std::vector<int> places;  ///< by world rank; kNoPlace: not in the group
  static constexpr int kNoPlace = -1;
};

/// The communications of all ranks of a job. Equal ones, of one rank or of several, are held once,
/// so that a large job whose ranks do the same takes little more memory than one rank.
class JobComms {
 public:
  /// `groups` are the benchmark's.
  JobComms(std::span<const et_schema::ProcessGroup> groups, std::size_t world_size);

  /// The next call of a rank.
  void add(std::size_t rank, const CommRecord& call, std::uint64_t node);
  /// Adds all calls of a rank's program. Throws Error (bad input): a group that does not exist,
  /// splits that do not add up to their tensor.
  void add(std::size_t rank, const et_schema::Program& program);

  [[nodiscard]] const std::vector<RankComms>& ranks() const { return ranks_; }
  [[nodiscard]] std::span<const et_schema::ProcessGroup> groups() const { return groups_; }
  /// A group without a list of ranks is the whole world.
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

/// A rank that cannot get to the end of its program, and whom it waits for.
struct StuckRank {
  std::size_t rank = 0;
  std::uint32_t call = 0;  ///< that it waits in
  std::size_t waits_for = 0;
  bool operator==(const StuckRank&) const = default;
};

/// What comes of playing all ranks against each other.
struct Matching {
  /// The first of each group of collectives, and of the messages between each two ranks; then that
  /// ranks wait for each other in a circle. None: the programs fit.
  std::vector<et_schema::Error> mismatches;
  std::vector<StuckRank> stuck;  ///< in order of ranks; only with mismatches
  /// By rank: the order in which its communications run where they complete one at a time; only
  /// without mismatches.
  std::vector<et_schema::CommOrder> orders;
};

/// Whether the programs of all ranks fit each other, so that a run cannot wait for a call that
/// never comes:
/// - in each group the same collectives in the same order, with the same root, reduction and dtype;
/// - sizes that agree: equal ones, parts of a gather or scatter, transposed splits;
/// - for each send a receive of the same size and dtype, in order between each two ranks; both in
///   batches or both alone, since NCCL sends these by different communicators;
/// - no ranks that wait for each other in a circle; a send in such a circle is kept apart instead
///   (CommOrder::kept_apart).
/// An error names both ranks, the node, the field, what was expected and what is there, and the
/// last calls of both ranks in that group. Calls that are equal are compared once; the time is
/// linear in the calls of all ranks, and in the splits.
[[nodiscard]] Matching match(const JobComms& comms);

/// The orders of match(), by rank: `programs[r]` is rank r's. Throws the first mismatch.
[[nodiscard]] std::vector<et_schema::CommOrder> match_programs(
    const et_schema::Programs& programs, std::span<const et_schema::ProcessGroup> groups);

/// Puts the peers of sends and receives right, group by group, where messages do not meet as they
/// are recorded but do if each peer is a rank of the job, or in a group of two the other one. Each
/// peer that changes is a loss (Loss::kRepairedMessages) of its program. Groups whose messages meet
/// in no such way stay as they are. Then the single one of two messages of which the other is in a
/// batch becomes a batch of its own (Loss::kRepairedMessages): where the original's group had one
/// communicator for both (a group that was opened with its device has), the two met. Throws Error
/// as JobComms::add() does.
void repair_messages(et_schema::Programs& programs,
                     std::span<const et_schema::ProcessGroup> groups);

/// Converts an order to a text for its rank, short where it is the program's own, and back.
/// parse_order throws Error (bad input) on a text that to_text does not write.
[[nodiscard]] std::string to_text(const et_schema::CommOrder& order);
[[nodiscard]] et_schema::CommOrder parse_order(const std::string& text);

}  // namespace understudy::matching
