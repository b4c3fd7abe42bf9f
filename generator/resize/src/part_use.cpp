#include "part_use.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/operator_facts.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "part_arguments.h"

namespace understudy::generator {
namespace {

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
  using enum et_schema::BatchRule;
  static const std::set<std::string_view> kPieces = {
      "split_with_sizes", "split", "unsafe_split", "chunk", "narrow", "slice", "as_strided"};
  static const std::set<std::string_view> kTables = {"split_with_sizes_copy", "chunk_cat",
                                                     "_chunk_cat"};
  static const std::set<std::string_view> kElements = {"elementwise", "copy", "optimizer"};
  const std::string_view op = et_schema::base_name(instruction.name);
  const et_schema::BatchRule rule = et_schema::operator_facts(instruction.name).batch;
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
  // New memory has the sizes that its numbers say.
  if (et_schema::asks_about_tensors(instruction.name) || op.starts_with("new_")) {
    return PartUse::kNothing;
  }
  if (et_schema::allocates_memory(instruction.name) && op.ends_with("_like")) {
    return PartUse::kMakesLike;
  }
  if (rule == kReshape || rule == kFactory || known == "view" ||
      et_schema::allocates_memory(instruction.name)) {
    return PartUse::kView;
  }
  if (rule == kBroadcast || rule == kLikeFirst || rule == kLikeFirstTwice ||
      kElements.contains(known)) {
    return PartUse::kByElement;
  }
  const bool sums =
      known == "reduction" && are_numbers(program, et_schema::slots_in(instruction.results));
  return sums ? PartUse::kNothing : PartUse::kUnknown;
}

}  // namespace

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

}  // namespace understudy::generator
