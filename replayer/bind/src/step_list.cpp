#include "step_list.h"

#include <algorithm>
#include <utility>

namespace understudy::replayer {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::SlotUse;

StepList::StepList(const Program& program, std::vector<bool> available, BoundProgram& bound)
    : program_(program),
      bound_(bound),
      available_(std::move(available)),
      holder_(program.storages.size()) {
  available_.resize(program.slots.size());
  for (SlotId slot = 0; slot < available_.size(); ++slot) {
    if (program.slots[slot].external) {
      available_[slot] = true;
    }
    if (available_[slot]) {
      holder_[program.slots[slot].storage] = slot;
    }
  }
}

void StepList::add(Step step, SlotUse use) {
  for (const SlotId slot : use.makes) {
    available_[slot] = true;
    holder_[program_.slots[slot].storage] = slot;
  }
  for (const SlotId slot : use.reads) {
    if (program_.slots[slot].external) {
      externals_.insert(slot);
    }
  }
  bound_.steps.push_back(std::move(step));
  uses_.push_back(std::move(use));
}

void StepList::add_alias(const Instruction* instruction, SlotId from, SlotId to) {
  Step step;
  step.kind = StepKind::kAlias;
  step.source = instruction;
  step.index = to;
  step.entries.begin = static_cast<std::uint32_t>(bound_.entries.size());
  bound_.entries.push_back({StackEntry::From::kSlot, from});
  step.entries.end = static_cast<std::uint32_t>(bound_.entries.size());
  add(std::move(step), {{from}, {to}, {}});
}

void StepList::add_give(const Instruction* instruction, SlotId slot) {
  Step step;
  step.kind = StepKind::kGive;
  step.index = slot;
  step.source = instruction;
  given_.insert(slot);
  add(std::move(step), {{}, {slot}, {}});
}

void StepList::add_joins(const std::vector<std::uint32_t>& comms, JoinedBy joined_by,
                         const std::optional<et_schema::Timing>& at) {
  for (const std::uint32_t comm : comms) {
    bound_.comms[comm].joined_by = joined_by;
    bound_.comms[comm].joined_at = at;
    Step step;
    step.kind = StepKind::kJoin;
    step.index = comm;
    add(std::move(step), {});
  }
}

void StepList::add_missing(const std::vector<SlotId>& slots) {
  for (const SlotId slot : slots) {
    if (available_[slot]) {
      continue;
    }
    // The slot becomes a view if another slot holds its storage.
    const std::optional<SlotId> base = holder_[program_.slots[slot].storage];
    if (base && has_memory(slot) && has_memory(*base)) {
      add_alias(nullptr, *base, slot);
    } else {
      add_give(nullptr, slot);
    }
  }
}

bool StepList::has_memory(SlotId slot) const {
  const Slot& layout = program_.slots[slot];
  return !layout.sparse &&
         std::find(layout.sizes.begin(), layout.sizes.end(), 0) == layout.sizes.end();
}

}  // namespace understudy::replayer
