#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "group_kinds.h"
#include "mesh.h"
#include "shards.h"
#include "sizes.h"

namespace understudy::generator {
namespace {

using Slots = std::vector<SlotId>;

/// Returns the tensors that an operator processes together: first its single tensors, which combine
/// with all others, then the i-th tensors of each of its lists.
std::vector<Slots> columns_of(const Instruction& instruction) {
  std::vector<Slots> columns(1);
  for (const auto* side : {&instruction.args, &instruction.results}) {
    for (const Argument& argument : *side) {
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
  }
  return columns;
}

/// How an instruction uses parts of sharded parameters.
enum class PartUse : std::uint8_t {
  kUnknown,
  kNothing,    ///< queries, waits, or reduces to numbers
  kByElement,  ///< tensors of a column have the same role
  kPieces,     ///< divides a part along its divided dimension, or a table
  kJoins,      ///< the reverse of kPieces
  /// Divides a gathered tensor into the parts of all ranks, or joins these parts to be scattered.
  kTables,
  kCopiesIn,  ///< copies a part into the buffer for the all-gather
  kView,      ///< a view of the part, or of other memory
  kMakesLike  ///< allocates memory with the first tensor's sizes
};

PartUse use_in_call(const et_schema::CommInfo& comm, const std::set<et_schema::GroupId>& groups) {
  using enum et_schema::CommSizes;
  switch (et_schema::traits(comm.kind).sizes) {
    case kNone:
    case kNoCommunication:
      return PartUse::kNothing;
    case kPairs:
      return PartUse::kByElement;
    case kOutputOfAll:
    case kInputOfAll:
      return groups.contains(comm.group) ? PartUse::kNothing : PartUse::kUnknown;
    default:
      return PartUse::kUnknown;
  }
}

bool are_numbers(const Program& program, const std::vector<SlotId>& slots) {
  return std::ranges::all_of(slots,
                             [&](SlotId slot) { return element_count(program.slots[slot]) <= 1; });
}

PartUse use_in_operator(const Program& program, const Instruction& instruction) {
  static const std::set<std::string_view> kPieces = {
      "split_with_sizes", "split", "unsafe_split", "chunk", "narrow", "slice", "as_strided"};
  static const std::set<std::string_view> kTables = {"split_with_sizes_copy", "chunk_cat",
                                                     "_chunk_cat"};
  static const std::set<std::string_view> kElements = {"elementwise", "copy", "optimizer"};
  const std::string_view op = et_schema::base_name(instruction.name);
  const std::string_view known =
      instruction.name.starts_with("aten::") ? et_schema::op_class(instruction.name) : "";
  if (instruction.name == kCopiesShardsIn) {
    return PartUse::kCopiesIn;
  }
  if (kTables.contains(op)) {
    return PartUse::kTables;
  }
  if (kPieces.contains(op) || op == "cat") {
    return op == "cat" ? PartUse::kJoins : PartUse::kPieces;
  }
  // New memory has the sizes of its arguments.
  if (et_schema::asks_about_tensors(instruction.name) || op.starts_with("new_")) {
    return PartUse::kNothing;
  }
  if (et_schema::allocates_memory(instruction.name) && op.ends_with("_like")) {
    return PartUse::kMakesLike;
  }
  if (known == "view" || et_schema::allocates_memory(instruction.name)) {
    return PartUse::kView;
  }
  if (kElements.contains(known)) {
    return PartUse::kByElement;
  }
  const bool sums =
      known == "reduction" && are_numbers(program, et_schema::slots_in(instruction.results));
  return sums ? PartUse::kNothing : PartUse::kUnknown;
}

/// `groups`: groups whose ranks share the parameters. Operators outside of ATen that no rule names
/// are unknown, because their names do not show what they do.
PartUse part_use(const Program& program, const Instruction& instruction,
                 const std::set<et_schema::GroupId>& groups) {
  switch (instruction.kind) {
    case InstructionKind::kOp:
      return use_in_operator(program, instruction);
    case InstructionKind::kCollective:
    case InstructionKind::kP2p:
      return use_in_call(*instruction.comm, groups);
    case InstructionKind::kAlias:
    case InstructionKind::kWait:
    case InstructionKind::kMarker:
      return PartUse::kNothing;
    case InstructionKind::kNative:
    case InstructionKind::kKernel:
      break;
  }
  return PartUse::kUnknown;
}

}  // namespace

void Shards::find_roles() {
  begin();
  carry_on();
  for (const Instruction& instruction : program_.instructions) {
    if (concern(instruction)) {
      check(instruction);
    }
  }
}

bool Shards::set(SlotId slot, ShardRole role) {
  if (roles_[slot] == role) {
    return false;
  }
  if (roles_[slot] != ShardRole::kOther) {
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

bool Shards::set_all(const Slots& slots, ShardRole role) {
  bool is_carried = false;
  for (const SlotId slot : slots) {
    is_carried = set(slot, role) || is_carried;
  }
  return is_carried;
}

void Shards::begin() {
  each_communication(program_.instructions, [&](const Instruction& call) {
    const et_schema::CommSizes sizes = et_schema::traits(call.comm->kind).sizes;
    const bool gathers = sizes == et_schema::CommSizes::kOutputOfAll;
    if (!groups_.contains(call.comm->group) ||
        (!gathers && sizes != et_schema::CommSizes::kInputOfAll)) {
      return;
    }
    const Slots parts = et_schema::slots_in({call.args[gathers ? 0 : 1]});
    const Slots wholes = et_schema::slots_in({call.args[gathers ? 1 : 0]});
    static_cast<void>(set_all(parts, ShardRole::kPart));
    for (std::size_t i = 0; i < std::min(parts.size(), wholes.size()); ++i) {
      const StorageId storage = program_.slots[parts[i]].storage;
      if (from_ > 1 && storage == program_.slots[wholes[i]].storage) {
        in_place_[storage] = element_count(program_.slots[parts[i]]);
      }
    }
  });
}

void Shards::carry_on() {
  bool is_carried = true;
  while (is_carried) {
    is_carried = carry_by_memory();
    et_schema::for_each_instruction(program_.instructions, [&](const Instruction& instruction) {
      is_carried = carry(instruction) || is_carried;
    });
  }
}

/// Carries roles to other shapes of the same memory.
bool Shards::carry_by_memory() {
  std::set<std::tuple<StorageId, std::int64_t, std::int64_t>> parts;
  const auto place_of = [this](SlotId id) {
    const Slot& slot = program_.slots[id];
    return std::tuple(slot.storage, slot.offset, element_count(slot));
  };
  for (SlotId id = 0; id < roles_.size(); ++id) {
    if (roles_[id] == ShardRole::kPart) {
      parts.insert(place_of(id));
    }
  }
  bool is_carried = false;
  for (SlotId id = 0; id < roles_.size(); ++id) {
    const Slot& slot = program_.slots[id];
    if (roles_[id] == ShardRole::kOther && !slot.sizes.empty() && is_contiguous(slot) &&
        parts.contains(place_of(id))) {
      is_carried = set(id, ShardRole::kPart) || is_carried;
    }
  }
  return is_carried;
}

bool Shards::carry(const Instruction& instruction) {
  switch (part_use(program_, instruction, groups_)) {
    case PartUse::kByElement:
      return carry_columns(instruction);
    case PartUse::kPieces:
    case PartUse::kJoins:
      return carry_pieces(instruction);
    case PartUse::kTables:
      return carry_tables(instruction);
    case PartUse::kCopiesIn:
      return set_all(et_schema::slots_in({instruction.args.front()}), ShardRole::kPart);
    case PartUse::kMakesLike:
      return !makes_like_other(instruction) &&
             set_all(et_schema::slots_in(instruction.results), ShardRole::kPart);
    case PartUse::kNothing:
    case PartUse::kView:
    case PartUse::kUnknown:
      break;
  }
  return false;
}

bool Shards::carry_columns(const Instruction& instruction) {
  bool is_carried = false;
  for (const Slots& column : columns_of(instruction)) {
    const auto part =
        std::ranges::find(column, ShardRole::kPart, [this](SlotId slot) { return roles_[slot]; });
    if (part == column.end() || element_count(program_.slots[*part]) <= 1) {
      continue;
    }
    for (const SlotId slot : column) {
      if (program_.slots[slot].sizes == program_.slots[*part].sizes) {
        is_carried = set(slot, ShardRole::kPart) || is_carried;
      }
    }
  }
  return is_carried;
}

bool Shards::carry_pieces(const Instruction& instruction) {
  const bool is_joined = et_schema::base_name(instruction.name) == "cat";
  Slots whole = et_schema::slots_in(instruction.args);
  Slots pieces = et_schema::slots_in(instruction.results);
  if (is_joined) {
    std::swap(whole, pieces);
  }
  if (whole.empty() || pieces.empty()) {
    return false;
  }
  const ShardRole role = roles_[whole.front()];
  if (role == ShardRole::kPart || (role == ShardRole::kTable && !is_joined)) {
    return set_all(pieces, role);
  }
  // A part may be a piece of a tensor that is not a part, if the pieces do not cover that tensor.
  std::int64_t elements = 0;
  for (const SlotId piece : pieces) {
    elements += element_count(program_.slots[piece]);
  }
  const bool are_parts = std::ranges::all_of(
      pieces, [this](SlotId piece) { return roles_[piece] == ShardRole::kPart; });
  return are_parts && elements == element_count(program_.slots[whole.front()]) &&
         set(whole.front(), ShardRole::kPart);
}

bool Shards::carry_tables(const Instruction& instruction) {
  const bool copies_out = et_schema::base_name(instruction.name) == "split_with_sizes_copy";
  Slots slots = et_schema::slots_in(copies_out ? instruction.args
                                               : std::vector<Argument>{instruction.args.back()});
  std::erase_if(slots, [this](SlotId slot) {
    const std::vector<std::int64_t>& sizes = program_.slots[slot].sizes;
    return sizes.size() != 2 || sizes[0] != from_;
  });
  return set_all(slots, ShardRole::kTable);
}

bool Shards::concern(const Instruction& instruction) const {
  return std::ranges::any_of(et_schema::all_slots_of(instruction),
                             [this](SlotId slot) { return role_of(slot) != ShardRole::kOther; });
}

/// Returns true if a view's input and result are both parts, or neither is.
bool Shards::keeps_parts(const Instruction& instruction) const {
  const Slots in = et_schema::slots_in(instruction.args);
  const Slots out = et_schema::slots_in(instruction.results);
  return in.size() != 1 || out.size() != 1 ||
         (role_of(in[0]) == ShardRole::kPart) == (role_of(out[0]) == ShardRole::kPart);
}

bool Shards::makes_like_other(const Instruction& instruction) const {
  return part_use(program_, instruction, groups_) == PartUse::kMakesLike &&
         role_of(et_schema::slots_in(instruction.args).front()) != ShardRole::kPart;
}

bool Shards::leaves_part(const Instruction& alias) const {
  const Slots in = et_schema::slots_in(alias.args);
  const Slots out = et_schema::slots_in(alias.results);
  return alias.kind == InstructionKind::kAlias && in.size() == 1 && out.size() == 1 &&
         role_of(in.front()) == ShardRole::kPart && role_of(out.front()) != ShardRole::kPart;
}

/// Returns true for memory into which a gathered whole is split. A part that was in it before is
/// unrelated.
bool Shards::is_memory_of_wholes(StorageId storage) const {
  bool is_whole = false;
  for (SlotId id = 0; id < roles_.size(); ++id) {
    is_whole =
        is_whole || (program_.slots[id].storage == storage && roles_[id] == ShardRole::kTable);
  }
  return is_whole && !in_place_.contains(storage);
}

/// Returns a tensor that is combined with a part element by element but is not a part itself.
const Slot* Shards::foreign(const Instruction& instruction) const {
  const std::vector<Slots> columns = columns_of(instruction);
  const auto is_part = [this](SlotId slot) { return roles_[slot] == ShardRole::kPart; };
  const bool meets_parts = std::ranges::any_of(
      columns, [&](const Slots& column) { return std::ranges::any_of(column, is_part); });
  for (const Slots& column : columns) {
    const bool is_single = &column == &columns.front();
    for (const SlotId slot : column) {
      if ((is_single ? meets_parts : std::ranges::any_of(column, is_part)) && !is_part(slot) &&
          element_count(program_.slots[slot]) > 1) {
        return &program_.slots[slot];
      }
    }
  }
  return nullptr;
}

/// Returns a piece that is not contiguous in the part, so that its offset does not show its size.
const Slot* Shards::scattered(const Instruction& instruction) const {
  for (const SlotId slot : et_schema::slots_in(instruction.results)) {
    if (roles_[slot] == ShardRole::kPart && !is_contiguous(program_.slots[slot])) {
      return &program_.slots[slot];
    }
  }
  return nullptr;
}

void Shards::check(const Instruction& instruction) const {
  const PartUse use = part_use(program_, instruction, groups_);
  std::string got = instruction.name;
  bool fits = use != PartUse::kUnknown && (use != PartUse::kView || keeps_parts(instruction));
  const Slot* other = nullptr;
  if (use == PartUse::kByElement) {
    other = foreign(instruction);
  } else if (use == PartUse::kPieces) {
    other = scattered(instruction);
  } else if (leaves_part(instruction)) {
    const Slots out = et_schema::slots_in(instruction.results);
    fits = is_memory_of_wholes(program_.slots[out.front()].storage);
  }
  if (other != nullptr) {
    got += fmt::format(" with [{}], which is {}", fmt::join(other->sizes, ","),
                       use == PartUse::kPieces ? "no stretch of a part" : "no part");
  }
  if (!fits || other != nullptr) {
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

}  // namespace understudy::generator
