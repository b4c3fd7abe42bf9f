#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/slot_extent.h"
#include "generator/matching/matching.h"

namespace understudy::matching {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;

namespace {

/// Records the calls of a program for all ranks that share it: what differs is their groups.
class Recorder {
 public:
  Recorder(const et_schema::Programs& programs, std::vector<std::size_t> ranks, JobComms& job)
      : programs_(programs),
        program_(programs[ranks.front()]),
        ranks_(std::move(ranks)),
        job_(job),
        open_(program_) {}

  void record() {
    for (const Instruction& instruction : program_.instructions) {
      visit(instruction);
    }
  }

 private:
  void visit(const Instruction& instruction) {
    if (instruction.kind == et_schema::InstructionKind::kWait) {
      join(open_.take_waited(instruction));
      return;
    }
    join(open_.take_touched(touched_by(program_, instruction)));
    if (is_communication(instruction)) {
      start(instruction);
    }
  }

  void start(const Instruction& instruction) {
    const auto number = static_cast<std::uint32_t>(job_.ranks()[ranks_.front()].calls.size());
    for (std::uint32_t& joined : joined_) {
      joined = number - joined;
    }
    record_.joined_before = std::exchange(joined_, {});
    for (const std::size_t rank : ranks_) {
      add(instruction, rank);
    }
    if (is_blocking(*instruction.comm)) {
      joined_.push_back(number);
    } else {
      open_.start(number, instruction);
    }
  }

  void add(const Instruction& instruction, std::size_t rank) {
    const et_schema::CommInfo& info = *instruction.comm;
    const std::vector<SlotId> inputs = slots_of(instruction, 0);
    const std::vector<SlotId> outputs = slots_of(instruction, 1);
    record_.kind = info.kind;
    record_.group = own_group(programs_.groups(rank), info.group);
    record_.root_or_peer = info.root_or_peer;
    record_.in_batch = et_schema::is_message(info.kind) && info.in_batch.value_or(false);
    record_.reduce_op = info.reduce_op;
    take_sizes(inputs, record_.inputs);
    take_sizes(outputs, record_.outputs);
    record_.dtype = inputs.empty() && outputs.empty()
                        ? et_schema::DType::kUndefined
                        : program_.slots[inputs.empty() ? outputs.front() : inputs.front()].dtype;
    record_.in_splits.clear();
    record_.out_splits.clear();
    if (et_schema::traits(info.kind).sizes == et_schema::CommSizes::kSplits) {
      record_.in_splits = splits_of(instruction, rank, info.in_splits, inputs, "in_splits");
      record_.out_splits = splits_of(instruction, rank, info.out_splits, outputs, "out_splits");
    }
    job_.add(rank, record_, instruction.node_id);
  }

  void take_sizes(const std::vector<SlotId>& slots, std::vector<std::int64_t>& sizes) const {
    sizes.clear();
    for (const SlotId slot : slots) {
      sizes.push_back(element_count(program_.slots[slot]));
    }
  }

  /// Returns splits in elements. The trace records splits in rows of dimension 0, and none if the
  /// parts are equal.
  [[nodiscard]] std::vector<std::int64_t> splits_of(const Instruction& instruction,
                                                    std::size_t rank,
                                                    const std::vector<std::int64_t>& recorded,
                                                    const std::vector<SlotId>& slots,
                                                    const char* field) const {
    if (slots.size() != 1) {
      fail(instruction, rank, field, "one tensor each way", fmt::format("{}", slots.size()));
    }
    const et_schema::Slot& slot = program_.slots[slots.front()];
    const std::int64_t all = element_count(slot);
    if (recorded.empty()) {
      const auto ranks = static_cast<std::int64_t>(group_size(instruction, rank));
      return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), all / ranks);
    }
    const std::int64_t sum = std::accumulate(recorded.begin(), recorded.end(), std::int64_t{0});
    const std::int64_t rows = slot.sizes.empty() ? 1 : slot.sizes.front();
    if (sum != all && sum != rows) {
      fail(instruction, rank, field, fmt::format("{} rows or {} elements", rows, all),
           fmt::format("[{}], together {}", fmt::join(recorded, ", "), sum));
    }
    std::vector<std::int64_t> splits = recorded;
    for (std::int64_t& split : splits) {
      split *= sum == all ? 1 : all / rows;
    }
    return splits;
  }

  [[nodiscard]] std::size_t group_size(const Instruction& instruction, std::size_t rank) const {
    const et_schema::GroupId group = own_group(programs_.groups(rank), instruction.comm->group);
    if (group >= job_.groups().size()) {
      fail(instruction, rank, "group",
           fmt::format("one of {} process groups", job_.groups().size()), fmt::format("{}", group));
    }
    return job_.members(group).ranks.size();
  }

  void join(const std::vector<std::uint32_t>& calls) {
    joined_.insert(joined_.end(), calls.begin(), calls.end());
  }

  [[noreturn]] void fail(const Instruction& instruction, std::size_t rank, const char* field,
                         std::string expected, std::string got) const {
    throw et_schema::bad_input(fmt::format("the {} does not fit its tensors",
                                           et_schema::to_string(instruction.comm->kind)),
                               {.rank = static_cast<int>(rank),
                                .node = instruction.node_id,
                                .field = field,
                                .expected = std::move(expected),
                                .got = std::move(got)});
  }

  const et_schema::Programs& programs_;
  const Program& program_;
  std::vector<std::size_t> ranks_;
  JobComms& job_;
  et_schema::OpenComms open_;
  CommRecord record_;                  ///< of the current call
  std::vector<std::uint32_t> joined_;  ///< calls to be joined before the next one
};

}  // namespace

JobComms::JobComms(std::span<const et_schema::ProcessGroup> groups,
                   const et_schema::Programs& programs)
    : JobComms(groups, programs.size()) {
  std::map<const Program*, std::vector<std::size_t>> sharing;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    sharing[&programs[rank]].push_back(rank);
  }
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    if (const auto& ranks = sharing[&programs[rank]]; ranks.front() == rank) {
      Recorder(programs, ranks, *this).record();
    }
  }
}

}  // namespace understudy::matching
