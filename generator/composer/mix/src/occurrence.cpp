#include "occurrence.h"

#include <algorithm>
#include <set>

#include "et_schema/model/bodies.h"
#include "generator/values/value_flow.h"

namespace understudy::composer {
namespace {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::SchemaId;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::Storage;
using et_schema::StorageId;

class Placer {
 public:
  Placer(const Program& origin, const Piece& piece, const Binding& binding, Program& into)
      : origin_(origin), piece_(piece), binding_(binding), into_(into) {}

  Occurrence place() {
    for (const SlotId slot : piece_.inputs) {
      take_input(slot);
    }
    take_parts();
    std::set<std::uint64_t> communicating;
    for (const std::size_t at : piece_.instructions) {
      Instruction& placed = placed_.instructions.emplace_back(copy(origin_.instructions[at]));
      if (placed.comm && communicating.insert(placed.thread).second) {
        placed.comm->joins_batch = false;  // the piece starts after the first message of its batch
      }
    }
    find_holds();
    return std::move(placed_);
  }

 private:
  /// Binds an input to a shared tensor, or to a new tensor that is made before the step.
  void take_input(SlotId slot) {
    const StorageId storage = origin_.slots[slot].storage;
    if (binding_.shared != nullptr) {
      const auto known = binding_.shared->slots.find(slot);
      if (known != binding_.shared->slots.end()) {
        slots_[slot] = known->second;
        storages_.try_emplace(storage, into_.slots[known->second].storage);
        return;
      }
    }
    Slot layout = origin_.slots[slot];
    layout.external = true;
    layout.storage = external_storage(storage);
    slots_[slot] = add(layout);
    if (binding_.shared != nullptr) {
      binding_.shared->slots[slot] = slots_[slot];
    }
  }

  /// Returns the storage of a tensor that is made before the step.
  StorageId external_storage(StorageId storage) {
    if (binding_.shared != nullptr) {
      const auto known = binding_.shared->storages.find(storage);
      if (known != binding_.shared->storages.end()) {
        storages_.try_emplace(storage, known->second);
        return known->second;
      }
    }
    const auto known = storages_.find(storage);
    if (known != storages_.end() && into_.storages[known->second].external) {
      return known->second;
    }
    Storage memory = origin_.storages[storage];
    memory.external = true;
    memory.held_until.reset();
    const StorageId made = add(memory);
    storages_.try_emplace(storage, made);
    if (binding_.shared != nullptr) {
      binding_.shared->storages[storage] = made;
    }
    return made;
  }

  /// Adds parts of tensors from before the step that have value rules of their own, although no
  /// instruction reads the parts as tensors.
  void take_parts() {
    std::set<StorageId> used;
    for (const SlotId slot : piece_.inputs) {
      used.insert(origin_.slots[slot].storage);
    }
    for (SlotId slot = 0; slot < origin_.slots.size(); ++slot) {
      const Slot& layout = origin_.slots[slot];
      if (layout.external && layout.value && used.contains(layout.storage) &&
          !slots_.contains(slot)) {
        take_input(slot);
      }
    }
  }

  SlotId slot_of(SlotId slot) {
    const auto known = slots_.find(slot);
    if (known != slots_.end()) {
      return known->second;
    }
    Slot layout = origin_.slots[slot];
    layout.storage = storage_of(layout.storage);
    layout.external = layout.external && into_.storages[layout.storage].external;
    return slots_[slot] = add(layout);
  }

  StorageId storage_of(StorageId storage) {
    const auto known = storages_.find(storage);
    if (known != storages_.end()) {
      return known->second;
    }
    Storage memory = origin_.storages[storage];
    memory.held_until.reset();
    return storages_[storage] = add(memory);
  }

  SlotId add(const Slot& slot) {
    into_.slots.push_back(slot);
    return static_cast<SlotId>(into_.slots.size() - 1);
  }
  StorageId add(const Storage& storage) {
    into_.storages.push_back(storage);
    return static_cast<StorageId>(into_.storages.size() - 1);
  }

  Instruction copy(const Instruction& from) {
    Instruction instruction = from;
    const auto mapped = [this](SlotId slot) { return slot_of(slot); };
    et_schema::renumber_slots(instruction.args, mapped);
    et_schema::renumber_slots(instruction.results, mapped);
    if (from.schema) {
      instruction.schema = schema_of(*from.schema);
    }
    if (instruction.comm) {
      instruction.comm->group = binding_.group(instruction.comm->group);
    }
    if (instruction.timing) {
      instruction.timing->page_faults.reset();
    }
    for (Instruction& inner : instruction.body) {
      inner = copy(inner);
    }
    return instruction;
  }

  SchemaId schema_of(SchemaId schema) {
    const std::string& text = origin_.schemas[schema];
    const auto known = std::find(into_.schemas.begin(), into_.schemas.end(), text);
    const auto id = static_cast<SchemaId>(known - into_.schemas.begin());
    if (known == into_.schemas.end()) {
      into_.schemas.push_back(text);
    }
    return id;
  }

  /// Finds the storages made here that the origin held beyond their last reader.
  void find_holds() {
    for (const auto& [from, to] : storages_) {
      const Storage& memory = origin_.storages[from];
      if (!memory.held_until || memory.external || into_.storages[to].external) {
        continue;
      }
      const auto until = std::lower_bound(piece_.instructions.begin(), piece_.instructions.end(),
                                          std::size_t{*memory.held_until});
      if (until != piece_.instructions.end()) {
        placed_.holds.emplace_back(to,
                                   static_cast<std::size_t>(until - piece_.instructions.begin()));
      }
    }
  }

  const Program& origin_;
  const Piece& piece_;
  const Binding& binding_;
  Program& into_;
  Occurrence placed_;
  std::map<SlotId, SlotId> slots_;
  std::map<StorageId, StorageId> storages_;
};

}  // namespace

Occurrence place_piece(const Program& origin, const Piece& piece, const Binding& binding,
                       Program& into) {
  return Placer(origin, piece, binding, into).place();
}

void make_values(et_schema::Program& program) {
  const std::vector<et_schema::Slot> before = program.slots;
  std::vector<bool> pinned;
  for (const et_schema::Instruction& instruction : program.instructions) {
    pinned.push_back(instruction.pinned);
  }
  generator::assign_values(program, {});
  for (std::size_t slot = 0; slot < before.size(); ++slot) {
    if (before[slot].value || before[slot].content) {
      program.slots[slot].value = before[slot].value;
      program.slots[slot].content = before[slot].content;
    }
  }
  // Results pinned in the origin stay pinned: the readers that required it may be missing here.
  for (std::size_t at = 0; at < pinned.size(); ++at) {
    program.instructions[at].pinned = program.instructions[at].pinned || pinned[at];
  }
}

}  // namespace understudy::composer
