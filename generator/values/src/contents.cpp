#include "contents.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/op_class.h"
#include "generator/flow/model_names.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

enum class Use { kReads, kWrites, kPassesOn };

/// Returns true for operators that only read the sizes and types of their arguments, or change the
/// layout of the same memory in place.
bool reads_no_content(std::string_view op) {
  return et_schema::asks_about_tensors(op) || op.ends_with("_like") ||
         op.starts_with("aten::new_") || (op.ends_with('_') && et_schema::op_class(op) == "view");
}

/// Returns true for in-place operators that write the elements selected by an index or a mask.
bool writes_named_elements(std::string_view op) {
  return op.ends_with('_') &&
         std::ranges::any_of(operator_facts(op).arguments, [](const ArgumentFact& row) {
           return row.meaning == Meaning::kIndex || row.meaning == Meaning::kIndexList ||
                  row.meaning == Meaning::kPlaneIndex || row.meaning == Meaning::kHides ||
                  row.meaning == Meaning::kSelectsAll;
         });
}

class Uses {
 public:
  explicit Uses(const Program& program)
      : program_(program), by_storage_(program.storages.size()), selected_(find_selected(program)) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      for (const SlotId slot : et_schema::all_slots_of(program.instructions[i])) {
        std::vector<std::size_t>& uses = by_storage_[program.slots[slot].storage];
        if (uses.empty() || uses.back() != i) {
          uses.push_back(i);
        }
      }
    }
  }

  /// Returns true if the first instruction after `allocation` that does not only pass the memory on
  /// reads it.
  [[nodiscard]] bool is_read_unwritten(std::size_t allocation, StorageId storage) const {
    const std::vector<std::size_t>& uses = by_storage_[storage];
    for (auto use = std::ranges::upper_bound(uses, allocation); use != uses.end(); ++use) {
      switch (use_of(program_.instructions[*use], storage)) {
        case Use::kReads:
          return true;
        case Use::kWrites:
          return false;
        case Use::kPassesOn:
          break;
      }
    }
    return false;
  }

 private:
  /// Returns true for reductions that may be in place: they read the memory that they write.
  [[nodiscard]] static bool adds_up(const Instruction& instruction) {
    if (!instruction.comm) {
      return false;
    }
    const et_schema::CommTraits& traits = et_schema::traits(instruction.comm->kind);
    return traits.reduces && traits.sizes == et_schema::CommSizes::kPairs;
  }

  [[nodiscard]] Use use_of(const Instruction& instruction, StorageId storage) const {
    if (instruction.kind == InstructionKind::kAlias ||
        instruction.kind == InstructionKind::kNative) {
      return instruction.kind == InstructionKind::kAlias ? Use::kPassesOn : Use::kWrites;
    }
    if (instruction.kind != InstructionKind::kOp || !instruction.schema) {
      // The second list of a communication's arguments has its outputs.
      const bool is_output = instruction.args.size() > 1 && holds({instruction.args[1]}, storage) &&
                             !adds_up(instruction);
      return is_output ? Use::kWrites : Use::kReads;  // no replay computes a kernel's values
    }
    const std::string_view op = without_overload(instruction.name);
    if (reads_no_content(op) || is_template(instruction, storage)) {
      return Use::kPassesOn;
    }
    if (op == "aten::lift_fresh") {
      return Use::kReads;  // torch.tensor filled the memory, even if no later operator reads it
    }
    const std::string_view schema = program_.schemas[*instruction.schema];
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      if (holds({instruction.args[i]}, storage) && et_schema::argument_is_written(schema, i)) {
        return leaves_elements(instruction, storage) ? Use::kReads : Use::kWrites;
      }
    }
    return holds(instruction.results, storage) ? Use::kPassesOn : Use::kReads;
  }

  /// Returns true if the operator only reads sizes and types of this memory.
  [[nodiscard]] bool is_template(const Instruction& instruction, StorageId storage) const {
    std::ptrdiff_t templates = 0;
    for (const ArgumentFact& row : operator_facts(instruction.name).arguments) {
      const Argument* argument = row.meaning == Meaning::kTemplate
                                     ? find_argument(program_, instruction, row.name)
                                     : nullptr;
      templates += argument != nullptr && holds({*argument}, storage) ? 1 : 0;
    }
    return templates > 0 &&
           templates == std::ranges::count_if(instruction.args, [&](const Argument& argument) {
             return holds({argument}, storage);
           });
  }

  /// Returns true if an operator may leave elements unwritten. The recorded masks together may have
  /// selected all elements, as for the clusters of an adaptive softmax; made masks may miss some.
  [[nodiscard]] bool leaves_elements(const Instruction& instruction, StorageId written) const {
    return writes_named_elements(without_overload(instruction.name)) &&
           std::ranges::any_of(et_schema::slots_in(instruction.args), [&](SlotId id) {
             const et_schema::Slot& slot = program_.slots[id];
             return slot.storage != written && follows_made_mask(slot, selected_);
           });
  }

  [[nodiscard]] bool holds(const std::vector<Argument>& arguments, StorageId storage) const {
    return std::ranges::any_of(et_schema::slots_in(arguments), [&](SlotId slot) {
      return program_.slots[slot].storage == storage;
    });
  }

  const Program& program_;
  std::vector<std::vector<std::size_t>> by_storage_;  ///< indices of instructions, in order
  std::vector<bool> selected_;
};

}  // namespace

std::vector<bool> find_unwritten_allocations(const Program& program) {
  const Uses uses(program);
  std::vector<bool> unwritten(program.instructions.size());
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (!et_schema::allocates_memory(instruction.name)) {
      continue;
    }
    et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
      const et_schema::Slot& made = program.slots[slot];
      unwritten[i] =
          unwritten[i] || (!made.sparse && !program.storages[made.storage].external &&
                           element_count(made) > 0 && uses.is_read_unwritten(i, made.storage));
    });
  }
  return unwritten;
}

std::vector<bool> find_known(const et_schema::Program& program) {
  std::vector<bool> written(program.storages.size());
  std::vector<bool> known(program.storages.size());
  for (const Instruction& instruction : program.instructions) {
    bool is_known = !instruction.comm && !operator_facts(instruction.name).draws &&
                    !et_schema::allocates_memory(instruction.name);
    if (instruction.comm) {  // other ranks' data is written into its arguments
      et_schema::for_each_slot(instruction.args,
                               [&](SlotId id) { known[program.slots[id].storage] = false; });
    }
    et_schema::for_each_slot(instruction.args, [&](SlotId id) {
      const et_schema::Slot& slot = program.slots[id];
      is_known &= slot.wrapped_number || known[slot.storage];
    });
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      const et_schema::StorageId storage = program.slots[id].storage;
      known[storage] = is_known && (known[storage] || !written[storage]);
      written[storage] = true;
    });
  }
  return known;
}

std::vector<bool> find_selected(const et_schema::Program& program) {
  std::vector<bool> selected(program.storages.size());
  for (const Instruction& instruction : program.instructions) {
    const bool is_selected = std::ranges::any_of(
        et_schema::slots_in(instruction.args),
        [&](SlotId id) { return follows_made_mask(program.slots[id], selected); });
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      const et_schema::Slot& slot = program.slots[id];
      selected[slot.storage] =
          selected[slot.storage] || (is_selected && et_schema::is_integral(slot.dtype));
    });
  }
  return selected;
}

bool follows_made_mask(const et_schema::Slot& slot, const std::vector<bool>& selected) {
  return (slot.value && slot.value->is<et_schema::ValueRule::Mask>()) ||
         (selected[slot.storage] && et_schema::is_integral(slot.dtype));
}

}  // namespace understudy::generator
