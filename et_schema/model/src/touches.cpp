#include "et_schema/model/touches.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {

Touched touched_by(const Program& program, const Instruction& instruction) {
  Touched touched;
  const auto storage_of = [&](SlotId slot) { return program.slots[slot].storage; };
  const bool moves_data = instruction.comm && instruction.kind != InstructionKind::kWait;
  for (std::size_t i = 0; i < instruction.args.size(); ++i) {
    // Lists are not copied: those of communications and optimizers are long.
    const auto* list = std::get_if<Argument::List>(&instruction.args[i].value);
    const Argument::List alone =
        list == nullptr ? Argument::List{instruction.args[i]} : Argument::List();
    for_each_slot(list == nullptr ? alone : *list, [&](SlotId slot) {
      // Most schemas write nothing; find('!') is the cheap test. A send's data is recorded as its
      // output, too.
      const bool writes =
          moves_data ? i == 1 && instruction.comm->kind != CommKind::kSend
          : instruction.kind == InstructionKind::kAlias
              ? false
              : !instruction.schema || instruction.kind == InstructionKind::kNative ||
                    (program.schemas[*instruction.schema].find('!') != std::string::npos &&
                     argument_is_written(program.schemas[*instruction.schema], i));
      (writes ? touched.writes : touched.reads).push_back(storage_of(slot));
    });
  }
  for_each_slot(instruction.results, [&](SlotId slot) {
    // A result in memory that the instruction reads is a view.
    const StorageId storage = storage_of(slot);
    if (std::ranges::find(touched.reads, storage) == touched.reads.end()) {
      touched.writes.push_back(storage);
    }
  });
  touched.is_view = touched.writes.empty() && !slots_in(instruction.results).empty();
  return touched;
}

std::vector<std::int64_t> operator_streams(const Program& program) {
  std::map<std::int64_t, std::size_t> counts;
  for (const Instruction& instruction : program.instructions) {
    if (const auto stream = recorded_stream(instruction); stream && !instruction.comm) {
      ++counts[*stream];
    }
  }
  std::vector<std::int64_t> streams;
  for (const auto& [stream, count] : counts) {
    streams.push_back(stream);
  }
  std::ranges::stable_sort(streams, std::greater<>(),
                           [&](std::int64_t stream) { return counts[stream]; });
  return streams;
}

void LastOfLanes::note(std::uint32_t lane, std::uint32_t step) {
  const auto known = std::ranges::find(lasts_, lane, &Last::lane);
  if (known == lasts_.end()) {
    lasts_.push_back({lane, step});
  } else {
    known->step = std::max(known->step, step);
  }
}

void LastOfLanes::note_others(const LastOfLanes& others, std::uint32_t own) {
  for (const Last& other : others.lasts_) {
    if (other.lane != own) {
      note(other.lane, other.step);
    }
  }
}

std::vector<LastOfLanes::Last> LastOfLanes::sorted() && {
  std::ranges::sort(lasts_, {}, &Last::lane);
  return std::move(lasts_);
}

std::vector<LastOfLanes::Last> LastTouches::enter(std::uint32_t at, std::uint32_t lane,
                                                  const Touched& touched) {
  LastOfLanes latest;
  for (const StorageId storage : touched.reads) {
    latest.note_others(writes_[storage], lane);
    reads_[storage].note(lane, at);
  }
  for (const StorageId storage : touched.writes) {
    latest.note_others(writes_[storage], lane);
    latest.note_others(reads_[storage], lane);
    writes_[storage].note(lane, at);
  }
  return std::move(latest).sorted();
}

}  // namespace understudy::et_schema
