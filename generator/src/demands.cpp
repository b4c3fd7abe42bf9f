#include "demands.h"

#include <algorithm>

#include "slots.h"
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
  const std::int64_t low = std::max(a.low, b.low);
  const std::int64_t high = std::min(a.high, b.high);
  if (low < high) {
    both.low = low;
    both.high = high;
  }
  both.a = std::max(a.a, b.a);
  return both;
}

ValueRule stricter(const ValueRule& known, const ValueRule& asked) {
  const bool known_is_range = known.kind == ValueRuleKind::kIntegers;
  const bool asked_is_range = asked.kind == ValueRuleKind::kIntegers;
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
  if (known.kind == ValueRuleKind::kLengths && asked.kind == ValueRuleKind::kLengths) {
    return asked.segments.size() > known.segments.size() ? asked : known;
  }
  return is_order_free(known.kind) && !is_order_free(asked.kind) ? asked : known;
}

}  // namespace

bool is_order_free(ValueRuleKind kind) {
  return kind == ValueRuleKind::kIntegers || kind == ValueRuleKind::kUniform ||
         kind == ValueRuleKind::kConstant || kind == ValueRuleKind::kTargets ||
         kind == ValueRuleKind::kBernoulli;
}

Demands::Demands(et_schema::Program& program)
    : program_(program), by_storage_(program.storages.size()) {}

void Demands::ask(SlotId id, const ValueRule& rule) {
  const Slot& slot = program_.slots[id];
  if (!slot.wrapped_number) {
    add(slot.storage, {slot.offset, element_count(slot), slot.dtype, rule});
  }
}

void Demands::add(StorageId storage, const Demand& demand) {
  for (Demand& known : by_storage_[storage]) {
    if (known.offset == demand.offset && known.count == demand.count &&
        known.dtype == demand.dtype) {
      known.rule = stricter(known.rule, demand.rule);
      return;
    }
  }
  by_storage_[storage].push_back(demand);
}

void Demands::write() {
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
      if (demand.count > 0) {
        write(storage, external_slots[storage], demand);
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
