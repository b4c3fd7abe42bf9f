#include "demands.h"

#include <algorithm>
#include <utility>

#include "et_schema/model/slot_extent.h"
#include "generator/lowering/slots.h"
#include "reuse_rules.h"
#include "value_kinds.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;
using et_schema::ValueRule;
using et_schema::ValueRuleKind;

/// A range that reaches down to the ignored class says that some targets are ignored, not how many.
ValueRule narrow_targets(ValueRule targets, const ValueRule& range) {
  constexpr double kAssumedIgnoredShare = 0.1;
  if (range.high > 0) {
    targets.high = std::min(targets.high, range.high);
  }
  if (range.why == kCapturedRange && range.low <= targets.low) {
    targets.a = kAssumedIgnoredShare;
  }
  return targets;
}

/// Ranges that exclude each other cannot both be of this memory: what the operator asks keeps it
/// running.
ValueRule intersect(const ValueRule& a, const ValueRule& b) {
  ValueRule both = a.why == kCapturedRange ? b : a;
  const ValueRule& other = a.why == kCapturedRange ? a : b;
  if (is_any_positive(both) && other.why == kCapturedRange && other.low > 0) {
    return other;  // what was seen goes before a guess
  }
  const std::int64_t low = std::max(a.low, b.low);
  const std::int64_t high = std::min(a.high, b.high);
  if (low < high) {
    both.low = low;
    both.high = high;
  }
  both.a = std::max(a.a, b.a);
  return both;
}

ValueRule stricter(const ValueRule& known, const ValueRule& asked, std::int64_t count) {
  const bool known_is_range = known.kind == ValueRuleKind::kIntegers;
  const bool asked_is_range = asked.kind == ValueRuleKind::kIntegers;
  if (known_is_range && asked.kind == ValueRuleKind::kReuse) {
    return narrow_reuse(asked, known, count);
  }
  if (known.kind == ValueRuleKind::kReuse && asked_is_range) {
    return narrow_reuse(known, asked, count);
  }
  // What is drawn near zero runs everywhere: any other demand is stricter.
  if (known.kind == ValueRuleKind::kNormal || asked.kind == ValueRuleKind::kNormal) {
    return known.kind == ValueRuleKind::kNormal ? asked : known;
  }
  if (known_is_range && asked_is_range) {
    return intersect(known, asked);
  }
  if (known.kind == ValueRuleKind::kTargets && asked_is_range) {
    return narrow_targets(known, asked);
  }
  if (known_is_range && asked.kind == ValueRuleKind::kTargets) {
    return narrow_targets(asked, known);
  }
  if (known.kind == ValueRuleKind::kReuse && asked.kind == ValueRuleKind::kTargets) {
    return asked;
  }
  if (known.kind == ValueRuleKind::kLengths && asked.kind == ValueRuleKind::kLengths) {
    return asked.segments.size() > known.segments.size() ? asked : known;
  }
  // Only some operators on offsets say whether the last one is the end (embedding_bag's backward
  // does not): where one has it so, all do.
  if (known.kind == ValueRuleKind::kOffsets && asked.kind == ValueRuleKind::kOffsets) {
    ValueRule both = asked.include_last ? asked : known;
    const bool both_bound = known.low > 0 && asked.low > 0;  // by how far apart two may be
    both.low = both_bound ? std::min(known.low, asked.low) : std::max(known.low, asked.low);
    return both;
  }
  return is_order_free(known.kind) && !is_order_free(asked.kind) ? asked : known;
}

/// What a rule says of a slot's elements, said of the `count` elements of storage that it has.
void fit_to_layout(ValueRule& rule, const Slot& slot, std::int64_t count) {
  if (rule.kind == ValueRuleKind::kMask) {
    const std::int64_t left_out = element_count(slot) - rule.high;
    rule.high = rule.high <= left_out ? std::min(rule.high, count)
                                      : std::max<std::int64_t>(count - left_out, 0);
  } else if (rule.kind == ValueRuleKind::kReuse) {
    for (std::size_t dim = slot.sizes.size(); dim-- > 0;) {
      const bool repeats = dim < slot.strides.size() && slot.strides[dim] == 0;
      if (!repeats || slot.sizes[dim] < 1 || rule.reuse.run % slot.sizes[dim] != 0) {
        break;
      }
      rule.reuse.run /= slot.sizes[dim];
    }
  }
}

/// What is asked of the first `count` of `all` elements, said of all of them; none where it cannot
/// be.
std::optional<ValueRule> extended(ValueRule rule, std::int64_t count, std::int64_t all) {
  if (rule.kind == ValueRuleKind::kLengths) {
    if (count < all) {
      rule.segments.push_back({all - count, 0});
    }
    return rule;
  }
  if (rule.kind != ValueRuleKind::kOffsets || (rule.include_last && count < all)) {
    return std::nullopt;
  }
  rule.include_last = rule.include_last || count + 1 == all;  // the end is what was left out
  return rule;
}

}  // namespace

bool is_order_free(ValueRuleKind kind) {
  return kind == ValueRuleKind::kIntegers || kind == ValueRuleKind::kUniform ||
         kind == ValueRuleKind::kNormal || kind == ValueRuleKind::kConstant ||
         kind == ValueRuleKind::kTargets || kind == ValueRuleKind::kBernoulli ||
         kind == ValueRuleKind::kReuse;
}

Demands::Demands(et_schema::Program& program)
    : program_(program), by_storage_(program.storages.size()) {}

void Demands::ask(SlotId id, ValueRule rule, bool through_arithmetic) {
  const Slot& slot = program_.slots[id];
  if (slot.wrapped_number) {
    return;
  }
  const bool anywhere = is_order_free(rule.kind) || rule.kind == ValueRuleKind::kMask;
  const std::int64_t count = anywhere ? et_schema::extent_elements(slot) : element_count(slot);
  fit_to_layout(rule, slot, count);
  add(slot.storage, {slot.offset, count, slot.dtype, std::move(rule), through_arithmetic});
}

void Demands::ask(const et_schema::Argument& argument, const ValueRule& rule,
                  bool through_arithmetic) {
  if (const auto* slot = std::get_if<et_schema::Argument::SlotRef>(&argument.value)) {
    ask(slot->id, rule, through_arithmetic);
  } else if (const auto* list = std::get_if<et_schema::Argument::List>(&argument.value)) {
    for (const et_schema::Argument& item : *list) {
      ask(item, rule, through_arithmetic);
    }
  }
}

void Demands::add(StorageId storage, const Demand& demand) {
  for (Demand& known : by_storage_[storage]) {
    if (known.offset == demand.offset && known.count == demand.count &&
        known.dtype == demand.dtype) {
      known.through_arithmetic = known.through_arithmetic || demand.through_arithmetic;
      known.rule = stricter(known.rule, demand.rule, demand.count);
      return;
    }
  }
  by_storage_[storage].push_back(demand);
}

const Demand* Demands::widest(StorageId storage) const {
  const Demand* widest = nullptr;
  for (const Demand& demand : by_storage_[storage]) {
    if (widest == nullptr || demand.count >= widest->count) {
      widest = &demand;
    }
  }
  return widest;
}

std::optional<ValueRule> Demands::rule_of_all(const Slot& slot) const {
  const Demand* const widest_one = widest(slot.storage);
  if (widest_one == nullptr) {
    return std::nullopt;
  }
  const std::int64_t all = element_count(slot);
  std::optional<ValueRule> first;
  std::int64_t most = 0;
  for (const Demand& demand : by_storage_[slot.storage]) {
    const bool is_of_first = demand.offset == slot.offset && demand.count <= all &&
                             demand.count >= most && demand.dtype == slot.dtype;
    if (std::optional<ValueRule> rule =
            is_of_first ? extended(demand.rule, demand.count, all) : std::nullopt) {
      first = std::move(rule);
      most = demand.count;
    }
  }
  return first ? first : widest_one->rule;
}

/// A range of some elements says less than the reuse recorded of all of them.
bool Demands::is_met_by_a_reuse(StorageId storage, const Demand& demand) const {
  return demand.rule.kind == ValueRuleKind::kIntegers && demand.rule.a == 0 &&
         std::ranges::any_of(by_storage_[storage], [&](const Demand& other) {
           return other.rule.kind == ValueRuleKind::kReuse && other.dtype == demand.dtype &&
                  other.offset <= demand.offset &&
                  demand.offset + demand.count <= other.offset + other.count &&
                  (demand.rule.why == kCapturedRange ||
                   (demand.rule.low <= other.rule.low && other.rule.high <= demand.rule.high));
         });
}

void Demands::write(const IndexSpread& spread) {
  std::vector<std::vector<SlotId>> external_slots(program_.storages.size());
  for (SlotId id = 0; id < program_.slots.size(); ++id) {
    if (program_.slots[id].external) {
      external_slots[program_.slots[id].storage].push_back(id);
    }
  }
  for (StorageId storage = 0; storage < by_storage_.size(); ++storage) {
    const auto is_sparse = [&](SlotId id) { return program_.slots[id].sparse; };
    if (!program_.storages[storage].external ||
        std::ranges::any_of(external_slots[storage], is_sparse)) {
      continue;
    }
    for (const Demand& demand : by_storage_[storage]) {
      if (demand.count > 0 && !is_met_by_a_reuse(storage, demand)) {
        Demand wanted = demand;
        if (demand.rule.kind == ValueRuleKind::kIntegers && demand.rule.why != kCapturedRange) {
          wanted.rule = spread_indices(demand.rule, spread, demand.count, storage);
        }
        write(storage, external_slots[storage], wanted);
      }
    }
  }
}

void Demands::write(StorageId storage, const std::vector<SlotId>& slots, const Demand& demand) {
  for (SlotId id : slots) {
    Slot& slot = program_.slots[id];
    if (slot.offset == demand.offset && slot.dtype == demand.dtype &&
        element_count(slot) == demand.count && slot.strides == contiguous_strides(slot.sizes)) {
      slot.value = demand.rule;
      return;
    }
  }
  Slot part;
  part.storage = storage;
  part.dtype = demand.dtype;
  part.sizes = {demand.count};
  part.strides = {1};
  part.offset = demand.offset;
  part.external = true;
  part.value = demand.rule;
  et_schema::Storage& memory = program_.storages[storage];
  memory.bytes =
      std::max(memory.bytes, (demand.offset + demand.count) * et_schema::item_size(demand.dtype));
  program_.slots.push_back(std::move(part));
}

}  // namespace understudy::generator
