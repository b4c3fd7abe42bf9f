#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <utility>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/slot_extent.h"
#include "et_schema/support/error.h"
#include "matching/matching.h"
#include "members.h"

namespace understudy::matching {

using et_schema::CommInfo;
using et_schema::CommKind;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

namespace {

class Recorder {
 public:
  Recorder(const Program& program, int rank, const std::vector<et_schema::ProcessGroup>& groups,
           int world_size)
      : program_(program), groups_(groups), world_size_(world_size), open_(program) {
    result_.rank = rank;
  }

  [[nodiscard]] RankComms record() {
    for (const Instruction& instruction : program_.instructions) {
      visit(instruction);
    }
    return std::move(result_);
  }

 private:
  void visit(const Instruction& instruction) {
    if (instruction.kind == InstructionKind::kWait) {
      join(open_.take_waited(instruction));
      return;
    }
    join(open_.take_touched(touched_by(program_, instruction)));
    if (is_communication(instruction)) {
      add(instruction);
    }
  }

  void add(const Instruction& instruction) {
    const CommInfo& info = *instruction.comm;
    const std::vector<SlotId> inputs = slots_of(instruction, 0);
    const std::vector<SlotId> outputs = slots_of(instruction, 1);
    CommRecord record;
    record.node = instruction.node_id;
    record.kind = info.kind;
    record.group = info.group;
    record.root_or_peer = info.root_or_peer;
    record.reduce_op = info.reduce_op;
    record.inputs = sizes_of(inputs);
    record.outputs = sizes_of(outputs);
    if (!inputs.empty() || !outputs.empty()) {
      record.dtype = program_.slots[inputs.empty() ? outputs.front() : inputs.front()].dtype;
    }
    if (et_schema::traits(info.kind).sizes == et_schema::CommSizes::kSplits) {
      record.in_splits = splits_of(instruction, info.in_splits, inputs, "in_splits");
      record.out_splits = splits_of(instruction, info.out_splits, outputs, "out_splits");
    }
    record.joined_before = std::exchange(joined_, {});

    const auto index = static_cast<std::uint32_t>(result_.calls.size());
    result_.calls.push_back(std::move(record));
    if (is_blocking(info)) {
      joined_.push_back(index);
    } else {
      open_.start(index, instruction);
    }
  }

  [[nodiscard]] std::vector<std::int64_t> sizes_of(const std::vector<SlotId>& slots) const {
    std::vector<std::int64_t> sizes;
    for (const SlotId slot : slots) {
      sizes.push_back(element_count(program_.slots[slot]));
    }
    return sizes;
  }

  /// Splits in elements. The trace records them in rows of dimension 0, or as nothing for equal
  /// parts.
  [[nodiscard]] std::vector<std::int64_t> splits_of(const Instruction& instruction,
                                                    const std::vector<std::int64_t>& recorded,
                                                    const std::vector<SlotId>& slots,
                                                    const char* field) const {
    if (slots.size() != 1) {
      fail(instruction, field, "one tensor each way", fmt::format("{}", slots.size()));
    }
    const Slot& slot = program_.slots[slots.front()];
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
    const et_schema::GroupId group = instruction.comm->group;
    if (group >= groups_.size()) {
      fail(instruction, "group", fmt::format("one of {} process groups", groups_.size()),
           fmt::format("{}", group));
    }
    return members_of(groups_[group], world_size_).size();
  }

  void join(const std::vector<std::uint32_t>& calls) {
    joined_.insert(joined_.end(), calls.begin(), calls.end());
  }

  [[noreturn]] void fail(const Instruction& instruction, const char* field, std::string expected,
                         std::string got) const {
    throw et_schema::bad_input(fmt::format("the {} does not fit its tensors",
                                           et_schema::to_string(instruction.comm->kind)),
                               {.rank = result_.rank,
                                .node = instruction.node_id,
                                .field = field,
                                .expected = std::move(expected),
                                .got = std::move(got)});
  }

  const Program& program_;
  const std::vector<et_schema::ProcessGroup>& groups_;
  int world_size_;
  RankComms result_;
  et_schema::OpenComms open_;
  std::vector<std::uint32_t> joined_;
};

}  // namespace

RankComms comms_of(const Program& program, int rank,
                   const std::vector<et_schema::ProcessGroup>& groups, int world_size) {
  return Recorder(program, rank, groups, world_size).record();
}

}  // namespace understudy::matching
