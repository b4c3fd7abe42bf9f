#include "shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "group_kinds.h"
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

/// Returns the parts that these groups gather or scatter, each with its whole.
std::vector<std::pair<SlotId, SlotId>> parts_of(const Program& program,
                                                const std::set<et_schema::GroupId>& groups) {
  std::vector<std::pair<SlotId, SlotId>> pairs;
  each_communication(program.instructions, [&](const Instruction& call) {
    const et_schema::CommSizes sizes = et_schema::traits(call.comm->kind).sizes;
    const bool gathers = sizes == et_schema::CommSizes::kOutputOfAll;
    if (groups.contains(call.comm->group) &&
        (gathers || sizes == et_schema::CommSizes::kInputOfAll)) {
      const auto parts = et_schema::slots_in({call.args[gathers ? 0 : 1]});
      const auto wholes = et_schema::slots_in({call.args[gathers ? 1 : 0]});
      for (std::size_t i = 0; i < std::min(parts.size(), wholes.size()); ++i) {
        pairs.emplace_back(parts[i], wholes[i]);
      }
    }
  });
  return pairs;
}

}  // namespace

Shards::Shards(const Program& program, const std::set<et_schema::GroupId>& groups,
               std::int64_t from, std::int64_t to, int rank, const AskSizes& ask)
    : program_(program),
      rank_(rank),
      answers_(program, ask(program, {from, to, true, parts_of(program, groups)}), rank),
      is_part_(program.slots.size()) {
  for (const et_schema::OtherSize& one : answers_.told()) {
    if (one.slot && one.refused.empty() && !one.sizes.empty()) {
      // Of all ranks' parts, [ranks, part], the second dimension changes, too.
      is_part_[*one.slot] = std::equal(one.sizes.begin() + 1, one.sizes.end(),
                                       program.slots[*one.slot].sizes.begin() + 1);
    } else if (one.slot) {
      throw WorldDoesNotFit{
          {.rank = rank,
           .field = "--world-size",
           .expected = fmt::format("sharded parameters that {} ranks can share evenly", to),
           .got = fmt::format("a part [{}] of {} ranks",
                              fmt::join(program.slots[*one.slot].sizes, ","), from)}};
    }
  }
  answers_.refuse(kNoOtherWorld, fmt::format("parts of {} ranks in place of {}", to, from),
                  "capture the job on that number of ranks");
}

std::uint64_t Shards::apply(Program& program, std::int64_t place) const {
  answers_.apply(program, place);
  const std::uint64_t dropped_bodies = drop_bodies(program_, program, program.instructions);
  separate_memory(program);
  give_templates(program);
  fit_storages(program_, program, rank_, "--world-size");
  return dropped_bodies;
}

/// Returns true if an alias views the memory of a part as something else.
bool Shards::leaves_part(const Instruction& alias) const {
  const std::vector<SlotId> in = et_schema::slots_in(alias.args);
  const std::vector<SlotId> out = et_schema::slots_in(alias.results);
  return alias.kind == InstructionKind::kAlias && in.size() == 1 && out.size() == 1 &&
         is_part_[in.front()] && !is_part_[out.front()];
}

/// Returns true if the instruction allocates a part with the sizes of a tensor that is none.
bool Shards::makes_like_other(const Instruction& instruction) const {
  const std::vector<SlotId> in = et_schema::slots_in(instruction.args);
  const std::vector<SlotId> out = et_schema::slots_in(instruction.results);
  return et_schema::base_name(instruction.name).ends_with("_like") && !in.empty() &&
         out.size() == 1 && is_part_[out.front()] && !is_part_[in.front()];
}

/// Replaces templates: a part may have been allocated with the sizes of a piece of a whole.
void Shards::give_templates(Program& program) const {
  for (Instruction& instruction : program.instructions) {
    if (!makes_like_other(instruction)) {
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
  for (SlotId id = 0; id < is_part_.size(); ++id) {
    Slot& slot = program.slots[id];
    if (program_.slots[id].storage == from && !is_part_[id]) {
      slot.storage = to;
      bytes = std::max(bytes, et_schema::extent_bytes(slot));
    }
  }
  return bytes;
}

}  // namespace understudy::generator
