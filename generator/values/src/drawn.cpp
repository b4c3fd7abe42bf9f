#include "drawn.h"

#include "et_schema/model/allocation.h"
#include "generator/flow/model_names.h"
#include "value_rules.h"

namespace understudy::generator {

std::vector<bool> find_known(const et_schema::Program& program) {
  std::vector<bool> written(program.storages.size());
  std::vector<bool> known(program.storages.size());
  for (const Instruction& instruction : program.instructions) {
    bool is_known = !instruction.comm && !operator_facts(instruction.name).draws &&
                    !et_schema::allocates_memory(instruction.name);
    if (instruction.comm) {  // what others send is written into its arguments
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
    bool is_selected = false;
    et_schema::for_each_slot(instruction.args, [&](SlotId id) {
      is_selected |= follows_made_mask(program.slots[id], selected);
    });
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
