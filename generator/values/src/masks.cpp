#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "generator/values/value_flow.h"
#include "value_kinds.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

class MaskMaker {
 public:
  explicit MaskMaker(Program& program) : program_(program) {}

  void visit(std::vector<Instruction>& instructions) {
    for (Instruction& instruction : instructions) {
      const OperatorFacts& facts = operator_facts(instruction.name);
      for (const ArgumentFact& row : facts.arguments) {
        visit(instruction, row, why_of(facts, row));
      }
      visit(instruction.body);
    }
  }

 private:
  void visit(Instruction& instruction, const ArgumentFact& row, const std::string& why) {
    const Argument* found = find_argument(program_, instruction, row.name);
    if (found == nullptr) {
      return;
    }
    Argument& argument =
        instruction.args[static_cast<std::size_t>(found - instruction.args.data())];
    if (decides_a_shape(row, instruction)) {
      const std::optional<ValueRule> rule = make_rule(row, program_, instruction);
      if (const auto* asked = rule ? rule->as<ValueRule::Mask>() : nullptr) {
        replace(argument, asked->count, why);
      }
    } else if (row.meaning == Meaning::kIndexList) {
      if (auto* list = std::get_if<Argument::List>(&argument.value)) {
        visit_index_list(instruction, *list, why);
      }
    }
  }

  void visit_index_list(const Instruction& instruction, Argument::List& list,
                        const std::string& why) {
    for (std::size_t position = 0; position < list.size(); ++position) {
      const std::optional<SlotId> index = slot_of(&list[position]);
      if (!index || !is_mask(program_.slots[*index])) {
        continue;
      }
      std::optional<std::int64_t> count = selected_count(instruction, list, position);
      count = count ? count : count_of_others(list);
      if (count) {
        replace(list[position], *count, why);
      }
    }
  }

  /// Returns the number of elements that the mask selects: the size of the dimension that replaces
  /// its dimensions in the result of index or the values of index_put. Empty if the values lack
  /// that dimension or have size 1 along it: they are broadcast, so any number is valid.
  [[nodiscard]] std::optional<std::int64_t> selected_count(const Instruction& instruction,
                                                           const Argument::List& list,
                                                           std::size_t position) const {
    const Argument* values = find_argument(program_, instruction, "values");
    const std::optional<SlotId> shaped =
        values != nullptr ? slot_of(values) : slot_at(instruction.results, 0);
    if (!shaped) {
      return std::nullopt;
    }
    const std::vector<std::int64_t>& sizes = program_.slots[*shaped].sizes;
    const std::size_t left_out =
        values == nullptr ? 0 : selected_rank(instruction, list) - sizes.size();
    if (position < left_out || position - left_out >= sizes.size() ||
        (values != nullptr && sizes[position - left_out] == 1)) {
      return std::nullopt;
    }
    return sizes[position - left_out];
  }

  /// Returns the rank of a selection by masks and one-dimensional indices: the indexed dimensions
  /// become one.
  [[nodiscard]] std::size_t selected_rank(const Instruction& instruction,
                                          const Argument::List& list) const {
    const std::optional<SlotId> self = slot_at(instruction.args, 0);
    std::size_t rank = self ? program_.slots[*self].sizes.size() + 1 : 0;
    for (const Argument& item : list) {
      if (const std::optional<SlotId> index = slot_of(&item)) {
        const et_schema::Slot& slot = program_.slots[*index];
        rank -= is_mask(slot) ? slot.sizes.size() : 1;
      }
    }
    return rank;
  }

  /// Returns the number of elements of an index beside the mask, which equals the number of true
  /// elements; empty if no index has more than one element.
  [[nodiscard]] std::optional<std::int64_t> count_of_others(const Argument::List& list) const {
    for (const Argument& item : list) {
      const std::optional<SlotId> index = slot_of(&item);
      if (!index || is_mask(program_.slots[*index])) {
        continue;
      }
      const std::vector<std::int64_t>& sizes = program_.slots[*index].sizes;
      if (sizes.size() == 1 && sizes.front() > 1) {
        return sizes.front();
      }
    }
    return std::nullopt;
  }

  /// Replaces an argument by a mask with `count` true elements.
  void replace(Argument& argument, std::int64_t count, const std::string& why) {
    auto* reference = std::get_if<Argument::SlotRef>(&argument.value);
    if (reference == nullptr || program_.slots[reference->id].sparse ||
        made_.contains(reference->id)) {
      return;
    }
    const auto [known, added] = made_of_.try_emplace({reference->id, count}, 0);
    if (added) {
      known->second = make(program_.slots[reference->id], mask(count, why));
      made_.insert(known->second);
    }
    reference->id = known->second;
  }

  SlotId make(Slot slot, ValueRule rule) {
    const std::int64_t bytes = element_count(slot) * et_schema::item_size(slot.dtype);
    const et_schema::Device device = program_.storages[slot.storage].device;
    slot.storage = static_cast<et_schema::StorageId>(program_.storages.size());
    slot.offset = 0;
    slot.strides = et_schema::contiguous_strides(slot.sizes);
    slot.external = true;
    slot.wrapped_number = false;
    slot.value = std::move(rule);
    program_.storages.push_back({device, bytes, true});
    program_.slots.push_back(std::move(slot));
    program_.losses.add(et_schema::Loss::kMadeMasks);
    return static_cast<SlotId>(program_.slots.size() - 1);
  }

  Program& program_;
  std::map<std::pair<SlotId, std::int64_t>, SlotId>
      made_of_;  ///< (recorded mask, count) → made mask
  std::set<SlotId> made_;
};

}  // namespace

bool is_mask(const Slot& slot) {
  return slot.dtype == et_schema::DType::kBool || slot.dtype == et_schema::DType::kUInt8;
}

void make_masks(Program& program) {
  MaskMaker(program).visit(program.instructions);
}

}  // namespace understudy::generator
