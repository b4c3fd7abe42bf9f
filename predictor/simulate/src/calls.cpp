#include <algorithm>
#include <numeric>
#include <utility>

#include "channels.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/program.h"
#include "et_schema/model/slot_extent.h"

namespace understudy::predictor {
namespace {

using et_schema::Slot;
using et_schema::SlotId;

/// Returns the size of a rank's recorded call by nccl-tests' definition.
std::int64_t call_bytes(const Program& program, const Instruction& instruction, std::size_t ranks) {
  return et_schema::size_of_call(instruction.comm->kind, argument_bytes(program, instruction, 0),
                                 argument_bytes(program, instruction, 1),
                                 static_cast<std::int64_t>(ranks));
}

void describe_tensors(const Program& program, const Instruction& instruction, GroupComm& call) {
  call.on_device = false;
  et_schema::for_each_slot(instruction.args, [&](SlotId id) {
    const Slot& slot = program.slots[id];
    call.dtype = slot.dtype;
    call.on_device |= is_accelerator(program.storages[slot.storage].device);
  });
}

/// Returns the bytes that a rank sends to each other. Splits are rows, elements, or equal parts.
std::vector<std::int64_t> split_bytes(const Program& program, const Instruction& instruction,
                                      std::size_t ranks) {
  const std::int64_t all = argument_bytes(program, instruction, 0);
  std::vector<std::int64_t> splits = instruction.comm->in_splits;
  if (splits.size() != ranks) {
    return std::vector<std::int64_t>(ranks, all / static_cast<std::int64_t>(ranks));
  }
  const std::int64_t sum = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  for (std::int64_t& split : splits) {
    split = sum == 0 ? 0 : split * (all / sum);
  }
  return splits;
}

}  // namespace

std::int64_t argument_bytes(const Program& program, const Instruction& instruction,
                            std::size_t argument) {
  std::int64_t bytes = 0;
  if (argument < instruction.args.size()) {
    et_schema::for_each_slot({instruction.args[argument]}, [&](SlotId id) {
      const Slot& slot = program.slots[id];
      bytes += element_count(slot) * et_schema::item_size(slot.dtype);
    });
  }
  return bytes;
}

GroupComm comm_call(const Job& job, et_schema::GroupId group, const std::vector<int>& ranks,
                    const std::vector<const Program*>& programs,
                    std::vector<const Instruction*> sides) {
  GroupComm call;
  call.kind = sides.front()->comm->kind;
  call.ranks = static_cast<int>(ranks.size());
  call.nodes = job.nodes_of(ranks);
  describe_tensors(*programs.front(), *sides.front(), call);
  call.recorded_ranks = job.recorded_ranks.empty() ? call.ranks : job.recorded_ranks[group];
  const Instruction* last = nullptr;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (sides[i] != last) {
      call.bytes = std::max(call.bytes, call_bytes(*programs[i], *sides[i], ranks.size()));
      last = sides[i];
    }
  }
  if (et_schema::traits(call.kind).sizes == et_schema::CommSizes::kSplits) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      // In a partial job, ranks without a program send as the rank with one.
      const std::size_t side = std::min(i, sides.size() - 1);
      const auto splits = split_bytes(*programs[side], *sides[side], ranks.size());
      call.sent_bytes.insert(call.sent_bytes.end(), splits.begin(), splits.end());
    }
  }
  call.sides = std::move(sides);
  return call;
}

}  // namespace understudy::predictor
