#include "value_carry.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "value_kinds.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

/// Lower bound of rules for numbers that must not be zero, in contrast to those near zero.
constexpr double kNotZero = 0.5;

using et_schema::extent_elements;
using et_schema::MovedOrder;

/// Returns true if both slots have the same number of elements and no gaps in memory.
bool is_whole(const Slot& target, const Slot& source) {
  const std::int64_t count = element_count(target);
  return count == element_count(source) && extent_elements(target) == count &&
         extent_elements(source) == count;
}

}  // namespace

bool ValueCarrier::keeps_structure(const Instruction& instruction, const ValueRule& rule) const {
  const std::string_view op = without_overload(instruction.name);
  const OperatorFacts& facts = operator_facts(op);
  if (op == "aten::cumsum") {
    return lengths_of_ends(rule) && summed_up(instruction);
  }
  if (op.starts_with("fbgemm::")) {
    return !facts.moves.empty() || op == "fbgemm::asynchronous_complete_cumsum";
  }
  const bool is_order_kept = facts.order == MovedOrder::kSame ||
                             (facts.order == MovedOrder::kSorted && rule.is<ValueRule::Lengths>());
  const std::optional<SlotId> source = slot_named(program_, instruction, facts.moves);
  const std::optional<SlotId> result = slot_at(instruction.results, 0);
  return is_order_kept && source && result &&
         et_schema::is_integral(program_.slots[*source].dtype) &&
         is_whole(program_.slots[*result], program_.slots[*source]);
}

void ValueCarrier::visit(const Instruction& instruction) {
  const std::string_view op = without_overload(instruction.name);
  const OperatorFacts& facts = operator_facts(op);
  carry_through(instruction, facts);
  carry_positive(instruction, facts);
  carry_mask(instruction, facts);
  if (op == "aten::cumsum") {
    ends_to_lengths(instruction);
  } else if (op == "fbgemm::asynchronous_complete_cumsum") {
    offsets_to_lengths(instruction);
  } else if (op == "fbgemm::permute_2D_sparse_data" || op == "fbgemm::permute_1D_sparse_data") {
    lengths_of_permuted(instruction);
  }
}

/// Propagates a mask's demand through negations and unions: if a mask must not hide a whole row,
/// none of its parts may.
void ValueCarrier::carry_mask(const Instruction& instruction, const OperatorFacts& facts) {
  const std::optional<SlotId> result = slot_at(instruction.results, 0);
  if ((!facts.negates_mask && !facts.joins_masks) || !result) {
    return;
  }
  const StorageId made = program_.slots[*result].storage;
  const std::vector<Demand> demands = demands_.on(made);
  for (const Demand& demand : demands) {
    const auto* asked = demand.rule.as<ValueRule::Mask>();
    if (asked == nullptr) {
      continue;
    }
    for (const char* name : {"self", "other"}) {
      const std::optional<SlotId> slot = slot_named(program_, instruction, name);
      if (!slot || program_.slots[*slot].dtype != et_schema::DType::kBool ||
          program_.slots[*slot].storage == made) {
        continue;
      }
      const std::int64_t few = std::min(asked->count, demand.count - asked->count);
      const std::int64_t count = element_count(program_.slots[*slot]);
      const std::int64_t each = std::min(facts.joins_masks ? few / 2 : few, count);
      const bool mostly_true = (asked->count > demand.count / 2) != facts.negates_mask;
      demands_.ask(*slot, mask(mostly_true ? count - each : each, demand.rule.why));
    }
  }
}

void ValueCarrier::carry_through(const Instruction& instruction, const OperatorFacts& facts) {
  if (facts.moves.empty() || instruction.results.empty()) {
    return;
  }
  const std::size_t moved = facts.name.starts_with("fbgemm::permute_") ? 1 : 0;
  const std::optional<SlotId> result =
      slot_at(instruction.results, std::min(moved, instruction.results.size() - 1));
  const Argument* source = find_argument(program_, instruction, facts.moves);
  if (result && source != nullptr) {
    carry(*result, *source, facts.order);
  }
}

void ValueCarrier::carry(SlotId to, const Argument& from, MovedOrder order) {
  if (const auto* list = std::get_if<Argument::List>(&from.value)) {
    for (const Argument& item : *list) {
      carry(to, item, order);
    }
    return;
  }
  const std::optional<SlotId> source_id = slot_of(&from);
  if (!source_id) {
    return;
  }
  const Slot target = program_.slots[to];
  const Slot source = program_.slots[*source_id];
  if (target.storage == source.storage || source.sparse) {
    return;
  }
  const std::int64_t count = element_count(target);
  const bool whole = is_whole(target, source);
  const bool in_order = whole && order == MovedOrder::kSame;
  // Sorted results may come from inputs that were sorted already.
  const auto keeps = [&](const ValueRule& rule) {
    return in_order || (whole && order == MovedOrder::kSorted && rule.is<ValueRule::Lengths>());
  };
  const std::vector<Demand> demands = demands_.on(target.storage);
  for (Demand demand : demands) {
    if (et_schema::is_integral(source.dtype) && !et_schema::is_integral(target.dtype)) {
      const auto* range = demand.rule.as<ValueRule::Uniform>();
      if (demand.rule.is<ValueRule::Normal>() || (range != nullptr && range->low < kNotZero)) {
        continue;  // integers keep their own values
      }
      demand.rule.kind = range != nullptr ? any_positive().kind : demand.rule.kind;
    }
    const bool inside =
        demand.offset >= target.offset && demand.offset + demand.count <= target.offset + count;
    // A normal distribution is only a preference. If it is demanded for a part of the target, it
    // must not be extended to the whole source.
    const bool is_preference_of_a_part =
        demand.rule.is<ValueRule::Normal>() &&
        (demand.offset > target.offset || demand.count < extent_elements(target));
    demand.dtype = source.dtype;
    if (inside && keeps(demand.rule)) {
      demand.offset += source.offset - target.offset;
      demands_.add(source.storage, demand);
    } else if (is_order_free(demand.rule) && !is_preference_of_a_part) {
      if (auto* reused = demand.rule.as<ValueRule::ReusedIntegers>()) {
        reused->reuse.run = 1;  // the order differs
        reused->reuse.sorted = false;
      }
      demand.offset = source.offset;
      demand.count = extent_elements(source);
      demands_.add(source.storage, demand);
    }
  }
  const auto sent = sent_.find(target.storage);
  if (in_order && sent != sent_.end()) {
    sent_[source.storage] = {sent->second.offset + source.offset - target.offset,
                             sent->second.splits};
  }
}

/// Propagates positivity to the arguments that decide it; a square has it by itself. addcmul can
/// subtract a square (centered RMSprop), so its first argument gets a range far above it.
void ValueCarrier::carry_positive(const Instruction& instruction, const OperatorFacts& facts) {
  std::optional<ValueRule> positive;
  const std::vector<SlotId> results = et_schema::slots_in(instruction.results);
  for (const SlotId id : results) {
    for (const Demand& demand : demands_.on(program_.slots[id].storage)) {
      const auto* range = demand.rule.as<ValueRule::Uniform>();
      if (demand.through_arithmetic && range != nullptr && range->low > 0) {
        positive = demand.rule;
      }
    }
  }
  const Argument* self = find_argument(program_, instruction, "self");
  const Argument* other = find_argument(program_, instruction, "other");
  const bool is_square = (facts.name == "aten::mul" || facts.name == "aten::_foreach_mul") &&
                         self != nullptr && other != nullptr && *self == *other;
  if (!facts.keeps_positive || !positive || is_square) {
    return;
  }
  // Arguments that an in-place operator writes already have the demand.
  const auto is_a_result = [&](const Argument& argument) {
    const std::optional<SlotId> slot = slot_of(&argument);
    return slot && std::ranges::any_of(results, [&](SlotId id) {
             return program_.slots[*slot].storage == program_.slots[id].storage;
           });
  };
  if (facts.name == "aten::addcmul") {
    positive->kind = ValueRule::Uniform{.low = 64, .high = 128};
  }
  // Sums, products and means are positive if all parts are; divisors have a range of their own.
  const bool divides = facts.name.ends_with("div");
  for (const char* name :
       {"self", "other", "mat1", "mat2", "end", "tensor", "tensors1", "vec", "vec2"}) {
    const Argument* argument = find_argument(program_, instruction, name);
    if (argument != nullptr && !is_a_result(*argument) && (argument != other || !divides)) {
      demands_.ask(*argument, *positive);
    }
  }
}

}  // namespace understudy::generator
