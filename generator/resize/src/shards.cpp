#include "shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "mesh.h"
#include "sizes.h"

namespace understudy::generator {
namespace {

/// Replaces the first argument by an external tensor with the given layout.
void read_from_outside(Slot tensor, Instruction& instruction, Program& program) {
  tensor.external = true;
  instruction.args.front().value = Argument::SlotRef{static_cast<SlotId>(program.slots.size())};
  program.slots.push_back(std::move(tensor));
}

}  // namespace

Shards::Shards(const Program& program, const std::set<et_schema::GroupId>& groups,
               std::int64_t from, std::int64_t to, int rank)
    : program_(program),
      groups_(groups),
      from_(from),
      to_(to),
      rank_(rank),
      roles_(program.slots.size(), ShardRole::kOther) {
  find_roles();
}

std::int64_t Shards::part_of(std::int64_t number, SlotId slot) const {
  const std::optional<std::int64_t> part = times_exactly(number, from_, to_);
  if (!part) {
    throw WorldDoesNotFit{
        {.rank = rank_,
         .field = "--world-size",
         .expected = fmt::format("sharded parameters that {} ranks can share evenly", to_),
         .got = fmt::format("a part [{}] of {} ranks", fmt::join(program_.slots[slot].sizes, ","),
                            from_)}};
  }
  return *part;
}

void Shards::resize(Slot& slot, SlotId id, std::int64_t recorded_position,
                    std::int64_t position) const {
  const Slot& was = program_.slots[id];
  if (role_of(id) == ShardRole::kTable) {
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
    if (role_of(id) != ShardRole::kOther) {
      resize(program.slots[id], id, recorded_position, position);
    }
  }
  const std::uint64_t dropped_bodies = change(program.instructions, program, position);
  separate_memory(program);
  give_templates(program);
  fit_storages(program_, program, rank_, "--world-size");
  return dropped_bodies;
}

/// Replaces templates: a part may have been allocated with the sizes of a piece of a whole.
void Shards::give_templates(Program& program) const {
  for (Instruction& instruction : program.instructions) {
    if (!concern(instruction) || !makes_like_other(instruction)) {
      continue;
    }
    Slot like = program.slots[et_schema::slots_in(instruction.results).front()];
    like.offset = 0;
    et_schema::Device device = program.storages[like.storage].device;
    like.storage = static_cast<StorageId>(program.storages.size());
    program.storages.push_back(
        {.device = device, .bytes = et_schema::extent_bytes(like), .external = true});
    read_from_outside(std::move(like), instruction, program);
  }
}

/// Separates memory that a part and, after it was freed, a whole used, and that the trace shows as
/// one storage. The whole gets its own storage, since the part's size changes.
void Shards::separate_memory(Program& program) const {
  std::map<StorageId, StorageId> own;
  for (Instruction& instruction : program.instructions) {
    if (!leaves_part(instruction)) {
      continue;
    }
    const SlotId out = et_schema::slots_in(instruction.results).front();
    const StorageId storage = program_.slots[out].storage;
    const auto [found, is_new] =
        own.try_emplace(storage, static_cast<StorageId>(program.storages.size()));
    if (is_new) {
      program.storages.push_back({.device = program_.storages[storage].device,
                                  .bytes = move_wholes(storage, found->second, program),
                                  .external = true});
    }
    read_from_outside(program.slots[out], instruction, program);
  }
}

/// Moves all tensors of a storage except parts to another one. Returns how many bytes they need.
std::int64_t Shards::move_wholes(StorageId from, StorageId to, Program& program) const {
  std::int64_t bytes = 0;
  for (SlotId id = 0; id < roles_.size(); ++id) {
    Slot& slot = program.slots[id];
    if (program_.slots[id].storage == from && role_of(id) != ShardRole::kPart) {
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
    if (!concern(instruction)) {
      continue;
    }
    scale_arguments(program_, scaled, instruction, RankPart{to_, position});
    // A target runs the bodies of FSDP's operators, so these bodies are resized instead of dropped.
    if (from_ == to_ || instruction.name.starts_with("fsdp::")) {
      dropped_bodies += change(instruction.body, scaled, position);
    } else {
      dropped_bodies += instruction.body.empty() ? 0U : 1U;
      instruction.body.clear();
    }
  }
  return dropped_bodies;
}

}  // namespace understudy::generator
