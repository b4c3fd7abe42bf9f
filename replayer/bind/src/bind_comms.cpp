#include "bind_comms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/slot_extent.h"
#include "replayer/backends/interface/check_call.h"

namespace understudy::replayer {
namespace {

using backends::Buffer;
using et_schema::Argument;
using et_schema::CommKind;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

et_schema::Reduction reduction_of(const Instruction& instruction) {
  const auto known = et_schema::parse_reduction(instruction.comm->reduce_op);
  if (!known) {
    throw et_schema::bad_input(
        "a reduction that is not known",
        {.node = instruction.node_id,
         .field = "reduce_op",
         .expected = "sum, avg, product, min, max, band, bor, bxor or premul_sum:FACTOR",
         .got = instruction.comm->reduce_op});
  }
  return *known;
}

std::vector<Buffer> buffers(const Program& program, const std::vector<SlotId>& slots) {
  std::vector<Buffer> buffers;
  for (const SlotId slot : slots) {
    buffers.push_back({nullptr, element_count(program.slots[slot]), program.slots[slot].dtype});
  }
  return buffers;
}

/// Converts recorded splits, in rows of dimension 0, to the backend's, in elements.
std::vector<std::int64_t> splits_in_elements(const Program& program, const Instruction& instruction,
                                             const std::vector<std::int64_t>& recorded,
                                             const std::vector<SlotId>& slots, const char* field) {
  if (recorded.empty() || slots.size() != 1) {
    return {};
  }
  const Slot& slot = program.slots[slots.front()];
  const std::int64_t all = element_count(slot);
  const std::int64_t rows = slot.sizes.empty() ? 1 : slot.sizes.front();
  const std::int64_t sum = std::accumulate(recorded.begin(), recorded.end(), std::int64_t{0});
  if (sum == all) {
    return recorded;
  }
  if (sum != rows) {
    throw et_schema::bad_input(
        "splits do not add up to the tensor they split",
        {.node = instruction.node_id,
         .field = field,
         .expected = fmt::format("{} rows or {} elements", rows, all),
         .got = fmt::format("[{}], together {}", fmt::join(recorded, ", "), sum)});
  }
  std::vector<std::int64_t> splits = recorded;
  for (std::int64_t& split : splits) {
    split *= all / rows;
  }
  return splits;
}

/// Without splits, all ranks get equal parts.
void fill_equal_splits(std::vector<std::int64_t>& splits, const std::vector<Buffer>& buffers,
                       int ranks) {
  if (splits.empty() && buffers.size() == 1 && ranks > 0) {
    splits.assign(static_cast<std::size_t>(ranks), buffers.front().count / ranks);
  }
}

bool is_in_batch(const et_schema::CommInfo& info) {
  return info.in_batch.value_or(false) && backends::goes_in_batch(info.kind);
}

/// Returns true if the next communication of the thread is in the same batch.
bool is_continued(const Program& program, const Instruction& instruction) {
  const std::vector<Instruction>& all = program.instructions;
  if (!is_in_batch(*instruction.comm)) {
    return false;
  }
  const auto next = std::find_if(
      all.begin() + (&instruction - all.data()) + 1, all.end(),
      [&](const Instruction& other) { return other.comm && other.thread == instruction.thread; });
  return next != all.end() && is_in_batch(*next->comm) && next->comm->joins_batch &&
         next->comm->group == instruction.comm->group;
}

}  // namespace

BoundComm bind_comm(const Program& program, const Instruction& instruction,
                    const std::vector<BoundGroup>& groups) {
  const et_schema::CommInfo& info = *instruction.comm;
  if (info.group >= groups.size()) {
    throw et_schema::bad_input("a communication of a process group that the benchmark lacks",
                               {.node = instruction.node_id,
                                .field = "group",
                                .expected = fmt::format("below {}", groups.size()),
                                .got = std::to_string(info.group)});
  }
  const BoundGroup& group = groups[info.group];
  BoundComm bound;
  bound.inputs = et_schema::slots_of(instruction, 0);
  bound.outputs = et_schema::slots_of(instruction, 1);
  bound.group_name = group.name;
  bound.group_size = group.size;
  bound.blocking = et_schema::is_blocking(info);
  backends::Call& call = bound.call;
  call.kind = info.kind;
  call.group = group.id;
  call.root_or_peer = static_cast<int>(info.root_or_peer);
  if (is_in_batch(info)) {
    call.path = backends::MessagePath::kBatch;
  } else if (info.in_batch && et_schema::is_message(info.kind)) {
    call.path = backends::MessagePath::kPair;
  }
  bound.batch_goes_on = is_continued(program, instruction);
  const et_schema::Reduction reduction = reduction_of(instruction);
  call.op = reduction.op;
  call.factor = reduction.factor;
  call.inputs = buffers(program, bound.inputs);
  call.outputs = buffers(program, bound.outputs);
  if (et_schema::traits(info.kind).sizes == et_schema::CommSizes::kSplits) {
    call.in_splits =
        splits_in_elements(program, instruction, info.in_splits, bound.inputs, "in_splits");
    call.out_splits =
        splits_in_elements(program, instruction, info.out_splits, bound.outputs, "out_splits");
    fill_equal_splits(call.in_splits, call.inputs, group.size);
    fill_equal_splits(call.out_splits, call.outputs, group.size);
  }
  return bound;
}

}  // namespace understudy::replayer
