#include "sparse_counts.h"

#include <optional>

#include "generator/flow/model_names.h"
#include "value_rules.h"

namespace understudy::generator {

void SparseCounts::visit(const Instruction& instruction, Demands& demands) {
  const std::optional<SlotId> result = slot_at(instruction.results, 0);
  const std::optional<SlotId> self = slot_named(program_, instruction, "self");
  if (!result) {
    return;
  }
  const et_schema::SparsePart part = operator_facts(instruction.name).part;
  const et_schema::Slot& made = program_.slots[*result];
  if (self && part == et_schema::SparsePart::kIndices && made.sizes.size() == 2) {
    note(*self, made.sizes[1]);
    for (const Demand& demand : demands.on(made.storage)) {
      const auto* integers = demand.rule.as<et_schema::ValueRule::Integers>();
      if (integers != nullptr && integers->distinct > 0) {
        different_[program_.slots[*self].storage] = integers->distinct;
      }
    }
    return;
  }
  if (self && part == et_schema::SparsePart::kValues && !made.sizes.empty()) {
    note(*self, made.sizes[0]);
    return;
  }
  if (self && part == et_schema::SparsePart::kCoalesced) {
    const auto rows = rows_.find(made.storage);
    if (rows != rows_.end()) {
      different_[program_.slots[*self].storage] = rows->second;
    }
    return;
  }
  const auto different = different_.find(made.storage);
  if (!made.sparse || different == different_.end()) {
    return;
  }
  if (const std::optional<SlotId> indices = slot_named(program_, instruction, "indices")) {
    demands.ask(*indices,
                {et_schema::ValueRule::Integers{.high = made.sizes.empty() ? 1 : made.sizes.front(),
                                                .distinct = different->second},
                 "rows of a coalesced gradient"});
  } else if (self && program_.slots[*self].sparse) {
    different_[program_.slots[*self].storage] = different->second;
  }
}

}  // namespace understudy::generator
