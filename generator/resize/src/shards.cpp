#include "shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "batch_rules.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/operator_facts.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/slot_extent.h"
#include "group_kinds.h"
#include "mesh.h"
#include "part_arguments.h"

namespace understudy::generator {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

std::string_view op_of(const Instruction& instruction) {
  return et_schema::base_name(instruction.name);
}

bool takes_apart(std::string_view op) {
  static const std::set<std::string_view> kOps = {"split_with_sizes", "split", "unsafe_split",
                                                  "chunk"};
  return kOps.contains(op);
}

/// A result that is part of the first tensor's memory, of which the trace tells no more.
bool selects(std::string_view op) {
  static const std::set<std::string_view> kOps = {"narrow", "slice", "as_strided"};
  return kOps.contains(op);
}

/// Tables of all ranks' parts: what is copied out of a gathered whole, or into one to be scattered.
bool copies_tables(std::string_view op) {
  static const std::set<std::string_view> kOps = {"split_with_sizes_copy", "chunk_cat",
                                                  "_chunk_cat"};
  return kOps.contains(op);
}

bool works_by_element(const Instruction& instruction) {
  using enum et_schema::BatchRule;
  static const std::set<std::string_view> kClasses = {"elementwise", "copy", "optimizer"};
  const et_schema::BatchRule rule = et_schema::operator_facts(instruction.name).batch;
  if (copies_tables(op_of(instruction)) || instruction.name == kCopiesShardsIn) {
    return false;
  }
  return rule == kBroadcast || rule == kLikeFirst || rule == kLikeFirstTwice ||
         kClasses.contains(et_schema::op_class(instruction.name));
}

bool reduces(const Instruction& instruction, const Program& program) {
  const bool are_numbers = std::ranges::all_of(
      et_schema::slots_in(instruction.results),
      [&](SlotId slot) { return et_schema::element_count(program.slots[slot]) <= 1; });
  return et_schema::op_class(instruction.name) == "reduction" && are_numbers;
}

bool is_contiguous(const Slot& slot) {
  return slot.strides.empty() || slot.strides == et_schema::contiguous_strides(slot.sizes);
}

/// What an operator works on side by side: its single tensors, or the i-th of each of its lists.
std::vector<std::vector<SlotId>> columns_of(const Instruction& instruction) {
  std::vector<std::vector<SlotId>> columns(1);
  const auto add = [&](const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) {
      if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
        columns.resize(std::max(columns.size(), list->size() + 1));
        for (std::size_t i = 0; i < list->size(); ++i) {
          if (const auto* slot = std::get_if<Argument::SlotRef>(&(*list)[i].value)) {
            columns[i + 1].push_back(slot->id);
          }
        }
      } else if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
        columns[0].push_back(slot->id);
      }
    }
  };
  add(instruction.args);
  add(instruction.results);
  return columns;
}

}  // namespace

Shards::Shards(const Program& program, const std::set<et_schema::GroupId>& groups,
               std::int64_t from, std::int64_t to, int rank)
    : program_(program),
      groups_(groups),
      from_(from),
      to_(to),
      rank_(rank),
      roles_(program.slots.size(), Role::kOther) {
  begin();
  carry_on();
  check(program.instructions);
}

bool Shards::set(SlotId slot, Role role) {
  if (roles_[slot] == role) {
    return false;
  }
  if (roles_[slot] != Role::kOther) {
    throw et_schema::bad_input(
        kNoOtherWorld,
        {.rank = rank_,
         .field = fmt::format("tensor %{}", slot),
         .expected = "one rank's part of a parameter, or all ranks' parts",
         .got = fmt::format("[{}], which is both", fmt::join(program_.slots[slot].sizes, ",")),
         .hint = "capture the job on that number of ranks"});
  }
  roles_[slot] = role;
  return true;
}

void Shards::begin() {
  each_communication(program_.instructions, [&](const Instruction& call) {
    const et_schema::CommSizes sizes = et_schema::traits(call.comm->kind).sizes;
    const bool gathers = sizes == et_schema::CommSizes::kOutputOfAll;
    if (!groups_.contains(call.comm->group) ||
        (!gathers && sizes != et_schema::CommSizes::kInputOfAll)) {
      return;
    }
    const std::vector<SlotId> parts = et_schema::slots_in({call.args[gathers ? 0 : 1]});
    const std::vector<SlotId> wholes = et_schema::slots_in({call.args[gathers ? 1 : 0]});
    for (std::size_t i = 0; i < std::min(parts.size(), wholes.size()); ++i) {
      static_cast<void>(set(parts[i], Role::kPart));
      const et_schema::StorageId storage = program_.slots[parts[i]].storage;
      if (from_ > 1 && storage == program_.slots[wholes[i]].storage) {
        in_place_[storage] = et_schema::element_count(program_.slots[parts[i]]);
      }
    }
  });
}

void Shards::carry_on() {
  bool is_carried = true;
  const auto carry_all = [&](const auto& self, const std::vector<Instruction>& all) -> void {
    for (const Instruction& instruction : all) {
      is_carried = carry(instruction) || is_carried;
      self(self, instruction.body);
    }
  };
  while (is_carried) {
    is_carried = carry_by_memory();
    carry_all(carry_all, program_.instructions);
  }
}

/// The same memory in another shape.
bool Shards::carry_by_memory() {
  std::set<std::tuple<et_schema::StorageId, std::int64_t, std::int64_t>> parts;
  const auto place_of = [this](SlotId id) {
    const Slot& slot = program_.slots[id];
    return std::tuple(slot.storage, slot.offset, et_schema::element_count(slot));
  };
  for (SlotId id = 0; id < roles_.size(); ++id) {
    if (roles_[id] == Role::kPart) {
      parts.insert(place_of(id));
    }
  }
  bool is_carried = false;
  for (SlotId id = 0; id < roles_.size(); ++id) {
    const Slot& slot = program_.slots[id];
    if (roles_[id] == Role::kOther && !slot.sizes.empty() && is_contiguous(slot) &&
        parts.contains(place_of(id))) {
      is_carried = set(id, Role::kPart) || is_carried;
    }
  }
  return is_carried;
}

bool Shards::carry(const Instruction& instruction) {
  const std::string_view op = op_of(instruction);
  if (instruction.kind != InstructionKind::kOp) {
    return false;
  }
  if (copies_tables(op)) {
    return carry_tables(instruction);
  }
  if (takes_apart(op) || selects(op) || op == "cat") {
    return carry_parts(instruction);
  }
  if (instruction.name == kCopiesShardsIn) {
    bool is_carried = false;
    et_schema::for_each_slot({instruction.args.front()}, [&](SlotId slot) {
      is_carried = set(slot, Role::kPart) || is_carried;
    });
    return is_carried;
  }
  return works_by_element(instruction) && carry_columns(instruction);
}

bool Shards::carry_columns(const Instruction& instruction) {
  bool is_carried = false;
  for (const std::vector<SlotId>& column : columns_of(instruction)) {
    const auto part =
        std::ranges::find(column, Role::kPart, [this](SlotId slot) { return roles_[slot]; });
    if (part == column.end() || et_schema::element_count(program_.slots[*part]) <= 1) {
      continue;
    }
    for (const SlotId slot : column) {
      if (program_.slots[slot].sizes == program_.slots[*part].sizes) {
        is_carried = set(slot, Role::kPart) || is_carried;
      }
    }
  }
  return is_carried;
}

/// What is taken apart, and what is put together, along the dimension that is divided.
bool Shards::carry_parts(const Instruction& instruction) {
  const std::vector<SlotId> in = et_schema::slots_in(instruction.args);
  const std::vector<SlotId> out = et_schema::slots_in(instruction.results);
  const auto is_role = [this](Role role) {
    return [this, role](SlotId slot) { return roles_[slot] == role; };
  };
  const bool is_joined = op_of(instruction) == "cat";
  const std::vector<SlotId>& whole = is_joined ? out : in;
  const std::vector<SlotId>& pieces = is_joined ? in : out;
  if (whole.empty() || pieces.empty()) {
    return false;
  }
  bool is_carried = false;
  const auto set_all = [&](const std::vector<SlotId>& slots, Role role) {
    for (const SlotId slot : slots) {
      is_carried = set(slot, role) || is_carried;
    }
  };
  if (is_role(Role::kPart)(whole.front())) {
    set_all(pieces, Role::kPart);
  } else if (!selects(op_of(instruction)) && std::ranges::all_of(pieces, is_role(Role::kPart))) {
    set_all({whole.front()}, Role::kPart);
  } else if (is_role(Role::kTable)(whole.front()) && !is_joined) {
    set_all(pieces, Role::kTable);
  }
  return is_carried;
}

bool Shards::carry_tables(const Instruction& instruction) {
  bool is_carried = false;
  const auto set_table = [&](SlotId slot) {
    const Slot& layout = program_.slots[slot];
    if (layout.sizes.size() == 2 && layout.sizes[0] == from_) {
      is_carried = set(slot, Role::kTable) || is_carried;
    }
  };
  if (op_of(instruction) == "split_with_sizes_copy") {
    et_schema::for_each_slot(instruction.args, set_table);
  } else {
    et_schema::for_each_slot({instruction.args.back()}, set_table);
  }
  return is_carried;
}

bool Shards::is_changed(const Instruction& instruction) const {
  bool changed = false;
  for (const auto* side : {&instruction.args, &instruction.results}) {
    et_schema::for_each_slot(
        *side, [&](SlotId slot) { changed = changed || roles_[slot] != Role::kOther; });
  }
  return changed;
}

void Shards::check(const std::vector<Instruction>& instructions) const {
  for (const Instruction& instruction : instructions) {
    if (is_changed(instruction)) {
      check(instruction);
    }
  }
}

/// Of a view: the same part, or the same of other memory.
bool Shards::keeps_parts(const Instruction& instruction) const {
  const std::vector<SlotId> in = et_schema::slots_in(instruction.args);
  const std::vector<SlotId> out = et_schema::slots_in(instruction.results);
  if (in.size() != 1 || out.size() != 1) {
    return true;
  }
  return (roles_[in[0]] == Role::kPart) == (roles_[out[0]] == Role::kPart);
}

/// Of memory that is seen in another way: the same part, or a whole for which a gathered one is
/// taken apart, which has nothing to do with the part that lay there.
bool Shards::is_reused_for_wholes(const Instruction& instruction) const {
  const std::vector<SlotId> in = et_schema::slots_in(instruction.args);
  const std::vector<SlotId> out = et_schema::slots_in(instruction.results);
  if (instruction.kind != InstructionKind::kAlias || !leaves_part(in, out)) {
    return true;
  }
  const et_schema::StorageId storage = program_.slots[out.front()].storage;
  bool is_whole = false;
  for (SlotId id = 0; id < roles_.size(); ++id) {
    is_whole = is_whole || (program_.slots[id].storage == storage && roles_[id] == Role::kTable);
  }
  return is_whole && !in_place_.contains(storage);
}

void Shards::check(const Instruction& instruction) const {
  using enum et_schema::BatchRule;
  const std::string_view op = op_of(instruction);
  const et_schema::BatchRule rule = et_schema::operator_facts(instruction.name).batch;
  const bool is_view = rule == kReshape || et_schema::op_class(instruction.name) == "view" ||
                       rule == kFactory || et_schema::allocates_memory(instruction.name);
  const bool is_known = instruction.kind != InstructionKind::kOp || copies_tables(op) ||
                        takes_apart(op) || selects(op) || op == "cat" || is_view ||
                        instruction.name == kCopiesShardsIn || works_by_element(instruction) ||
                        reduces(instruction, program_);
  std::string got = instruction.name;
  bool fits = is_known && instruction.kind != InstructionKind::kKernel &&
              instruction.kind != InstructionKind::kNative && is_reused_for_wholes(instruction) &&
              (!is_view || takes_apart(op) || selects(op) || keeps_parts(instruction));
  if (fits && works_by_element(instruction) && !is_view) {
    for (const std::vector<SlotId>& column : columns_of(instruction)) {
      const bool has_part =
          std::ranges::any_of(column, [this](SlotId slot) { return roles_[slot] == Role::kPart; });
      for (const SlotId slot : column) {
        const Slot& layout = program_.slots[slot];
        if (has_part && roles_[slot] != Role::kPart && et_schema::element_count(layout) > 1) {
          fits = false;
          got += fmt::format(" with [{}], which is no part", fmt::join(layout.sizes, ","));
        }
      }
    }
  }
  if (!fits) {
    throw et_schema::bad_input(kNoOtherWorld,
                               {.rank = rank_,
                                .node = instruction.node_id,
                                .field = instruction.name,
                                .expected = "an operator on a part of a sharded parameter whose "
                                            "rule is known",
                                .got = std::move(got),
                                .hint = "capture the job on that number of ranks"});
  }
}

std::int64_t Shards::part_of(std::int64_t number, SlotId slot) const {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(number, from_, &product) || product % to_ != 0) {
    throw WorldDoesNotFit{
        {.rank = rank_,
         .field = "--world-size",
         .expected = fmt::format("sharded parameters that {} ranks can share evenly", to_),
         .got = fmt::format("a part [{}] of {} ranks", fmt::join(program_.slots[slot].sizes, ","),
                            from_)}};
  }
  return product / to_;
}

void Shards::resize(Slot& slot, SlotId id, std::int64_t recorded_position,
                    std::int64_t position) const {
  const Slot& was = program_.slots[id];
  if (roles_[id] == Role::kTable) {
    slot.sizes = {to_, part_of(was.sizes[1], id)};
    slot.offset = part_of(was.offset, id);
    if (!was.strides.empty()) {
      slot.strides[0] = part_of(was.strides[0], id);
    }
    return;
  }
  if (!slot.sizes.empty()) {
    slot.sizes[0] = part_of(was.sizes[0], id);
  }
  const auto found = in_place_.find(was.storage);
  if (found == in_place_.end()) {
    slot.offset = part_of(was.offset, id);
    return;
  }
  const std::int64_t within = was.offset - recorded_position * found->second;
  slot.offset = position * part_of(found->second, id) + part_of(within, id);
}

std::uint64_t Shards::apply(Program& program, std::int64_t recorded_position,
                            std::int64_t position) const {
  for (SlotId id = 0; id < roles_.size(); ++id) {
    if (roles_[id] != Role::kOther) {
      resize(program.slots[id], id, recorded_position, position);
    }
  }
  part_memory(program);
  fit_storages(program_, program, rank_);
  return change(program.instructions, program, position);
}

/// Memory where a part lay, freed, may have been given to a whole, of which the trace shows one
/// storage. The whole gets one of its own, since the part's is of another size now.
void Shards::part_memory(Program& program) const {
  std::map<et_schema::StorageId, et_schema::StorageId> own;
  for (Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::kAlias) {
      continue;
    }
    const std::vector<SlotId> in = et_schema::slots_in(instruction.args);
    const std::vector<SlotId> out = et_schema::slots_in(instruction.results);
    if (!leaves_part(in, out)) {
      continue;
    }
    const et_schema::StorageId storage = program_.slots[out.front()].storage;
    const auto [found, is_new] =
        own.try_emplace(storage, static_cast<et_schema::StorageId>(program.storages.size()));
    if (is_new) {
      program.storages.push_back({.device = program_.storages[storage].device,
                                  .bytes = move_wholes(storage, found->second, program),
                                  .external = true});
    }
    Slot whole = program.slots[out.front()];
    whole.external = true;
    instruction.args.front().value = Argument::SlotRef{static_cast<SlotId>(program.slots.size())};
    program.slots.push_back(std::move(whole));
  }
}

bool Shards::leaves_part(const std::vector<SlotId>& in, const std::vector<SlotId>& out) const {
  return in.size() == 1 && out.size() == 1 && roles_[in.front()] == Role::kPart &&
         roles_[out.front()] != Role::kPart;
}

/// Gives all but the parts that lie in a storage another one. Returns how many bytes they need.
std::int64_t Shards::move_wholes(et_schema::StorageId from, et_schema::StorageId to,
                                 Program& program) const {
  std::int64_t bytes = 0;
  for (SlotId id = 0; id < roles_.size(); ++id) {
    Slot& slot = program.slots[id];
    if (program_.slots[id].storage == from && roles_[id] != Role::kPart) {
      slot.storage = to;
      bytes = std::max(bytes, et_schema::extent_bytes(slot));
    }
  }
  return bytes;
}

std::uint64_t Shards::change(std::vector<Instruction>& instructions, const Program& scaled,
                             std::int64_t position) const {
  std::uint64_t dropped_bodies = 0;
  for (Instruction& instruction : instructions) {
    if (!is_changed(instruction)) {
      continue;
    }
    if (instruction.schema) {
      scale_arguments(program_, scaled, instruction);
      change_part_arguments(program_, scaled, to_, position, instruction);
    }
    // Of FSDP's operators what is recorded below is what a target runs.
    if (instruction.name.starts_with("fsdp::")) {
      dropped_bodies += change(instruction.body, scaled, position);
    } else {
      dropped_bodies += instruction.body.empty() ? 0U : 1U;
      instruction.body.clear();
    }
  }
  return dropped_bodies;
}

}  // namespace understudy::generator
