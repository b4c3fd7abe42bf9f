#pragma once

#include <variant>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Returns the slots of an instruction's arguments, then those of its results.
[[nodiscard]] inline std::vector<SlotId> all_slots_of(const Instruction& instruction) {
  std::vector<SlotId> slots = slots_in(instruction.args);
  for_each_slot(instruction.results, [&slots](SlotId slot) { slots.push_back(slot); });
  return slots;
}

/// Replaces each slot among the arguments, lists included, by slot_for(slot).
template <typename SlotFor>
void renumber_slots(std::vector<Argument>& arguments, const SlotFor& slot_for) {
  for (Argument& argument : arguments) {
    if (auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
      slot->id = slot_for(slot->id);
    } else if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      renumber_slots(*list, slot_for);
    }
  }
}

/// Calls visit(instruction) for each instruction and, after it, for those of its body.
template <typename Instructions, typename Visitor>
void for_each_instruction(Instructions& instructions, const Visitor& visit) {
  for (auto& instruction : instructions) {
    visit(instruction);
    for_each_instruction(instruction.body, visit);
  }
}

/// Returns true if all tensors that the instruction returns lie in memory of its arguments.
[[nodiscard]] bool returns_given_memory(const Program& program, const Instruction& instruction);

/// Returns true if the body makes all results of its operator and writes all that the operator
/// writes. Returns false if the operator computes in a kernel of its own (fbgemm's lookup, a
/// recurrent layer, oneDNN's convolution, randperm into a given tensor): its body then has only
/// allocations and changes of shape.
[[nodiscard]] bool body_makes_results(const Program& program, const Instruction& instruction);

}  // namespace understudy::et_schema
