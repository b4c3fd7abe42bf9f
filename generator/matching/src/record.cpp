#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <utility>

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

class Recorder {
 public:
  Recorder(const Program& program, const et_schema::OwnGroups& groups, std::size_t rank,
           JobComms& job)
      : program_(program), groups_(groups), rank_(rank), job_(job), open_(program) {}

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
      add(instruction);
    }
  }

  void add(const Instruction& instruction) {
    const et_schema::CommInfo& info = *instruction.comm;
    const std::vector<SlotId> inputs = slots_of(instruction, 0);
    const std::vector<SlotId> outputs = slots_of(instruction, 1);
    record_.kind = info.kind;
    record_.group = own_group(groups_, info.group);
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
      record_.in_splits = splits_of(instruction, info.in_splits, inputs, "in_splits");
      record_.out_splits = splits_of(instruction, info.out_splits, outputs, "out_splits");
    }
    const auto number = static_cast<std::uint32_t>(job_.ranks()[rank_].calls.size());
    record_.joined_before.clear();
    for (const std::uint32_t joined : joined_) {
      record_.joined_before.push_back(number - joined);
    }
    joined_.clear();
    job_.add(rank_, record_, instruction.node_id);
    if (is_blocking(info)) {
      joined_.push_back(number);
    } else {
      open_.start(number, instruction);
    }
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
                                                    const std::vector<std::int64_t>& recorded,
                                                    const std::vector<SlotId>& slots,
                                                    const char* field) const {
    if (slots.size() != 1) {
      fail(instruction, field, "one tensor each way", fmt::format("{}", slots.size()));
    }
    const et_schema::Slot& slot = program_.slots[slots.front()];
    const std::int64_t all = element_count(slot);
    if (recorded.empty()) {
      const auto ranks = static_cast<std::int64_t>(group_size(instruction));
      return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), all / ranks);
    }
    const std::int64_t sum = std::accumulate(recorded.begin(), recorded.end(), std::int64_t{0});
    const std::int64_t rows = slot.sizes.empty() ? 1 : slot.sizes.front();
    if (sum != all && sum != rows) {
      fail(instruction, field, fmt::format("{} rows or {} elements", rows, all),
           fmt::format("[{}], together {}", fmt::join(recorded, ", "), sum));
    }
    std::vector<std::int64_t> splits = recorded;
    for (std::int64_t& split : splits) {
      split *= sum == all ? 1 : all / rows;
    }
    return splits;
  }

  [[nodiscard]] std::size_t group_size(const Instruction& instruction) const {
    const et_schema::GroupId group = own_group(groups_, instruction.comm->group);
    if (group >= job_.groups().size()) {
      fail(instruction, "group", fmt::format("one of {} process groups", job_.groups().size()),
           fmt::format("{}", group));
    }
    return job_.members(group).ranks.size();
  }

  void join(const std::vector<std::uint32_t>& calls) {
    joined_.insert(joined_.end(), calls.begin(), calls.end());
  }

  [[noreturn]] void fail(const Instruction& instruction, const char* field, std::string expected,
                         std::string got) const {
    throw et_schema::bad_input(fmt::format("the {} does not fit its tensors",
                                           et_schema::to_string(instruction.comm->kind)),
                               {.rank = static_cast<int>(rank_),
                                .node = instruction.node_id,
                                .field = field,
                                .expected = std::move(expected),
                                .got = std::move(got)});
  }

  const Program& program_;
  const et_schema::OwnGroups& groups_;
  std::size_t rank_;
  JobComms& job_;
  et_schema::OpenComms open_;
  CommRecord record_;                  ///< of the current call
  std::vector<std::uint32_t> joined_;  ///< calls to be joined before the next one
};

}  // namespace

void JobComms::add(std::size_t rank, const Program& program, const et_schema::OwnGroups& groups) {
  Recorder(program, groups, rank, *this).record();
}

JobComms::JobComms(std::span<const et_schema::ProcessGroup> groups,
                   const et_schema::Programs& programs)
    : JobComms(groups, programs.size()) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    add(rank, programs[rank], programs.groups(rank));
  }
}

}  // namespace understudy::matching
