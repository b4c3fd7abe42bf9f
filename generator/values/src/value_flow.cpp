#include "generator/values/value_flow.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "contents.h"
#include "demands.h"
#include "et_schema/model/unrecorded.h"
#include "generator/flow/model_names.h"
#include "reuse_rules.h"
#include "value_carry.h"
#include "value_kinds.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

/// Carries the number of distinct rows of a coalesced sparse gradient against the data flow, to the
/// indices from which the gradient was made. That number decides shapes, so the indices are drawn
/// with as many distinct values.
class SparseCounts {
 public:
  explicit SparseCounts(const Program& program) : program_(program) {}

  /// Visits one operator. Operators must be visited in reverse order.
  void visit(const Instruction& instruction, Demands& demands) {
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
      demands.ask(*indices, {et_schema::ValueRule::Integers{
                                 .high = made.sizes.empty() ? 1 : made.sizes.front(),
                                 .distinct = different->second},
                             "rows of a coalesced gradient"});
    } else if (self && program_.slots[*self].sparse) {
      different_[program_.slots[*self].storage] = different->second;
    }
  }

 private:
  void note(SlotId sparse, std::int64_t count) { rows_[program_.slots[sparse].storage] = count; }

  const Program& program_;
  std::map<StorageId, std::int64_t> rows_;       ///< of coalesced tensors
  std::map<StorageId, std::int64_t> different_;  ///< of tensors that later operators coalesce
};

class ValueAssigner {
 public:
  ValueAssigner(Program& program, const CapturedValues& captured)
      : program_(program),
        captured_(captured),
        demands_(program),
        sparse_counts_(program),
        carrier_(program, demands_),
        known_(find_known(program)),
        selected_(find_selected(program)) {}

  void assign(const IndexSpread& spread) {
    const std::vector<bool> unwritten = find_unwritten_allocations(program_);
    for (std::size_t i = program_.instructions.size(); i-- > 0;) {
      if (unwritten[i]) {
        pin_results(program_.instructions[i]);
      }
      visit(program_.instructions[i]);
    }
    demands_.write(spread);
    assume_unknown_sparse();
  }

 private:
  void visit(Instruction& instruction) {
    if (instruction.kind == InstructionKind::kCollective) {
      carrier_.visit_collective(instruction);
      return;
    }
    if (instruction.kind == InstructionKind::kKernel) {
      keep_demands_on_results(instruction);  // in a replay, a stub makes the results
    }
    if (instruction.kind != InstructionKind::kOp) {
      return;
    }
    const OperatorFacts& facts = operator_facts(instruction.name);
    const bool is_unknown = facts.leaves_range && computes_unknown_indices(instruction);
    const bool is_own =
        is_unknown || (facts.leaves_range && computes_selected_indices(instruction));
    program_.losses.add(et_schema::Loss::kAssumedArguments, is_unknown ? 1 : 0);
    if (is_own || facts.counts || makes_structure(instruction, facts)) {
      pin_results(instruction);
    } else if (reads_sparse(instruction)) {
      // The number of elements depends on data. If a replay gets another number, it generates the
      // results itself, by these rules.
      keep_demands_on_results(instruction);
    }
    sparse_counts_.visit(instruction, demands_);
    if (!is_own) {  // pinned results: their demand need not hold for the arguments
      carrier_.visit(instruction);
    }
    for (const ArgumentFact& row : facts.arguments) {
      ask(instruction, facts, row);
    }
    use_captured_ranges(instruction);
    use_captured_reuses(instruction);
    use_captured_zeros(instruction);
    use_captured_sparse(instruction);
  }

  /// Sets a plausible number of elements of sparse tensors without recorded content.
  void assume_unknown_sparse() {
    std::map<SlotId, bool> unknown;  // by slot: read by an operator that needs coalesced ones
    for (const Instruction& instruction : program_.instructions) {
      const std::string_view op = without_overload(instruction.name);
      const bool is_coalesced = op == "aten::indices" || op == "aten::values";
      et_schema::for_each_slot(instruction.args, [&](SlotId id) {
        const Slot& slot = program_.slots[id];
        if (slot.sparse && slot.external && !slot.content && !slot.sizes.empty()) {
          unknown[id] |= is_coalesced;
        }
      });
    }
    for (const auto& [id, is_coalesced] : unknown) {
      program_.slots[id].content = assumed_content(program_.slots[id]);
      program_.slots[id].content->coalesced = is_coalesced;
    }
    program_.losses.add(et_schema::Loss::kUnknownSparse, unknown.size());
  }

  static et_schema::SparseContent assumed_content(const Slot& slot) {
    const std::int64_t rows = slot.sizes.empty() ? 1 : slot.sizes.front();
    et_schema::SparseContent content;
    content.elements = et_schema::assumed_elements(rows, element_count(slot));
    for (const std::int64_t size : slot.sizes) {
      content.indices.push_back(integers(0, size, std::string(et_schema::kAssumedElements)));
    }
    return content;
  }

  /// Calls visit(slot, captured) for each captured fact about the instruction's tensors.
  template <typename Captured, typename Visit>
  static void for_each_captured(
      const std::unordered_map<std::uint64_t, std::vector<Captured>>& by_node,
      const Instruction& instruction, Visit&& visit) {
    const auto captured = by_node.find(instruction.node_id);
    if (captured == by_node.end()) {
      return;
    }
    const std::vector<std::optional<SlotId>> tensors = flat_tensors(instruction.args);
    for (const Captured& each : captured->second) {
      if (each.tensor < tensors.size() && tensors[each.tensor]) {
        visit(*tensors[each.tensor], each);
      }
    }
  }

  /// Sets the recorded share of zeros of external storages; computed tensors get zeros by
  /// computation. The inputs of logarithms keep the recorded share too, so that infinite results
  /// are not taken for an error of the replay.
  void use_captured_zeros(const Instruction& instruction) {
    const bool is_logarithm = operator_facts(instruction.name).is_logarithm;
    for_each_captured(
        captured_.reuses.zeros_by_node, instruction, [&](SlotId slot, const CapturedZeros& zeros) {
          et_schema::Storage& storage = program_.storages[program_.slots[slot].storage];
          if (storage.external || is_logarithm) {
            storage.zeros = zeros.share;
          }
        });
  }

  /// Sets the recorded elements of sparse externals, whose batch may have had other sizes.
  void use_captured_sparse(const Instruction& instruction) {
    for_each_captured(captured_.reuses.sparse_by_node, instruction,
                      [&](SlotId id, const CapturedSparse& captured) {
                        Slot& slot = program_.slots[id];
                        if (slot.external && slot.sparse &&
                            captured.sparse->indices.size() <= slot.sizes.size()) {
                          slot.content = content_of(*captured.sparse, slot.sizes);
                        }
                      });
  }

  static et_schema::SparseContent content_of(const et_schema::SparseUse& sparse,
                                             const std::vector<std::int64_t>& sizes) {
    et_schema::SparseContent content{sparse.layout, sparse.elements, sparse.coalesced, {}};
    for (std::size_t dim = 0; dim < sparse.indices.size(); ++dim) {
      content.indices.push_back(narrow_reuse(reuse_rule(sparse.indices[dim], kCapturedReuse),
                                             integers(0, sizes[dim]), sparse.elements));
    }
    return content;
  }

  void use_captured_reuses(const Instruction& instruction) {
    for_each_captured(captured_.reuses.by_node, instruction,
                      [&](SlotId slot, const CapturedReuse& reuse) {
                        if (et_schema::is_integral(program_.slots[slot].dtype)) {
                          demands_.ask(slot, reuse_rule(*reuse.reuse, kCapturedReuse));
                        }
                      });
  }

  /// Uses the captured sizes of the groups of rows, which decide the operator's time.
  void use_captured_ends(const Instruction& instruction, const Argument& argument,
                         ValueRule& rule) const {
    const std::int64_t rows = std::get<ValueRule::Lengths>(rule.kind).segments.back().sum;
    for_each_captured(
        captured_.reuses.by_node, instruction, [&](SlotId slot, const CapturedReuse& captured) {
          if (argument == Argument{Argument::SlotRef{slot}}) {
            rule = group_ends(element_count(program_.slots[slot]), rows, captured.reuse);
          }
        });
  }

  /// Narrows demands on integers by captured ranges. Offsets and lengths are stricter than ranges;
  /// for targets, the range shows whether some are ignored.
  void use_captured_ranges(const Instruction& instruction) {
    // The range is recorded before the operator runs, so it is meaningless for memory that the
    // operator overwrites.
    const std::vector<SlotId> overwritten = et_schema::slots_in(instruction.results);
    for_each_captured(captured_.ranges, instruction, [&](SlotId id, const CapturedRange& range) {
      Slot& slot = program_.slots[id];
      if (slot.wrapped_number && range.min == range.max) {
        slot.value = constant(static_cast<double>(range.min), kCapturedRange);
      } else if (et_schema::is_integral(slot.dtype) && !slot.sparse && !slot.wrapped_number &&
                 std::ranges::find(overwritten, id) == overwritten.end() &&
                 range.max < std::numeric_limits<std::int64_t>::max()) {
        demands_.ask(id, integers(range.min, range.max + 1, kCapturedRange));
      }
    });
  }

  /// By flat tensor index; empty for an undefined tensor.
  [[nodiscard]] static std::vector<std::optional<SlotId>> flat_tensors(
      const std::vector<Argument>& arguments) {
    std::vector<std::optional<SlotId>> tensors;
    for (const Argument& argument : arguments) {
      if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
        tensors.emplace_back(slot->id);
      } else if (std::holds_alternative<Argument::Undefined>(argument.value)) {
        tensors.emplace_back(std::nullopt);
      } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
        const std::vector<std::optional<SlotId>> inner = flat_tensors(*list);
        tensors.insert(tensors.end(), inner.begin(), inner.end());
      }
    }
    return tensors;
  }

  void ask(const Instruction& instruction, const OperatorFacts& facts, const ArgumentFact& row) {
    const Argument* argument = find_argument(program_, instruction, row.name);
    if (argument == nullptr) {
      return;
    }
    const std::string why = why_of(facts, row);
    if (row.meaning == Meaning::kIndexList) {
      ask_index_list(instruction, *argument, why);
      return;
    }
    std::optional<ValueRule> rule = make_rule(row, program_, instruction);
    if (!rule) {
      return;
    }
    if (row.meaning == Meaning::kEnds) {
      use_captured_ends(instruction, *argument, *rule);
    }
    rule->why = why;
    if (facts.name == "fbgemm::bounds_check_indices") {
      ask_rows_per_table(instruction);
    }
    demands_.ask(*argument, *rule, row.meaning != Meaning::kDivisor);
  }

  /// Element i of the list indexes dimension i; a mask covers as many dimensions as it has.
  void ask_index_list(const Instruction& instruction, const Argument& argument,
                      const std::string& why) {
    const auto* list = std::get_if<Argument::List>(&argument.value);
    const std::optional<SlotId> self = slot_named(program_, instruction, "self");
    if (list == nullptr || !self) {
      return;
    }
    const std::vector<std::int64_t>& sizes = program_.slots[*self].sizes;
    std::size_t dim = 0;
    for (const Argument& item : *list) {
      const std::optional<SlotId> index = slot_of(&item);
      const bool is_mask_item = index && is_mask(program_.slots[*index]);
      if (index && !is_mask_item && dim < sizes.size()) {
        demands_.ask(*index, integers(0, sizes[dim], why));
      }
      dim += is_mask_item ? program_.slots[*index].sizes.size() : 1;
    }
  }

  [[nodiscard]] bool reads_sparse(const Instruction& instruction) const {
    return std::ranges::any_of(et_schema::slots_in(instruction.args),
                               [this](SlotId id) { return program_.slots[id].sparse; });
  }

  /// Returns true if an operator's results are lengths or offsets that must be generated, since
  /// they decide shapes. The program computes them from random numbers or a batch. They are
  /// generated at the operator closest to their origin, so that they fit the recorded shapes.
  [[nodiscard]] bool makes_structure(const Instruction& instruction,
                                     const OperatorFacts& facts) const {
    if (follows_structure(facts)) {
      return false;
    }
    return std::ranges::any_of(et_schema::slots_in(instruction.results), [&](SlotId id) {
      const Slot& slot = program_.slots[id];
      const bool is_unmet =
          std::ranges::any_of(demands_.on(slot.storage), [&](const Demand& demand) {
            return (demand.rule.is<ValueRule::Lengths>() || demand.rule.is<ValueRule::Offsets>()) &&
                   !carrier_.keeps_structure(instruction, demand.rule);
          });
      return is_unmet && !known_[slot.storage] && et_schema::is_integral(slot.dtype) &&
             (facts.draws || !is_view_of_argument(instruction, slot.storage));
    });
  }

  /// Returns true if an operator's results follow from lengths or offsets among its arguments,
  /// which already fit: the batch sizes of packed sequences, the bag of each index.
  [[nodiscard]] static bool follows_structure(const OperatorFacts& facts) {
    return std::ranges::any_of(facts.arguments, [](const ArgumentFact& row) {
      return row.meaning == Meaning::kOffsets || row.meaning == Meaning::kMonotone ||
             row.meaning == Meaning::kLengths || row.meaning == Meaning::kSortedLengths ||
             row.meaning == Meaning::kBatchSizes;
    });
  }

  [[nodiscard]] bool is_asked_as_index(const Slot& slot) const {
    return et_schema::is_integral(slot.dtype) &&
           std::ranges::any_of(demands_.on(slot.storage), [](const Demand& demand) {
             return demand.rule.is<ValueRule::ReusedIntegers>() ||
                    demand.rule.is<ValueRule::Targets>() ||
                    (demand.rule.is<ValueRule::Integers>() && demand.rule.why != kCapturedRange);
           });
  }

  /// Returns true for indices that follow from a made mask, which may be out of range.
  [[nodiscard]] bool computes_selected_indices(const Instruction& instruction) const {
    return std::ranges::any_of(et_schema::slots_in(instruction.results), [&](SlotId id) {
      const Slot& slot = program_.slots[id];
      return selected_[slot.storage] && is_asked_as_index(slot) &&
             !is_view_of_argument(instruction, slot.storage);
    });
  }

  /// Returns true for indices computed from numbers without captured values, which may be out of
  /// range too. A profile alone lacks such a number: the part of a vocabulary that a rank holds.
  [[nodiscard]] bool computes_unknown_indices(const Instruction& instruction) const {
    if (!captured_.ranges.empty() || !captured_.reuses.by_node.empty()) {
      return false;
    }
    const auto is_number = [&](SlotId id) {
      const Slot& slot = program_.slots[id];
      return slot.wrapped_number ||
             (slot.sizes.empty() && slot.external && et_schema::is_integral(slot.dtype));
    };
    const auto is_computed = [&](SlotId id) {
      const Slot& slot = program_.slots[id];
      return !program_.storages[slot.storage].external && is_asked_as_index(slot);
    };
    return std::ranges::any_of(et_schema::slots_in(instruction.results), is_computed) &&
           std::ranges::any_of(et_schema::slots_in(instruction.args), is_number);
  }

  [[nodiscard]] bool is_view_of_argument(const Instruction& instruction,
                                         et_schema::StorageId storage) const {
    return std::ranges::any_of(et_schema::slots_in(instruction.args),
                               [&](SlotId id) { return program_.slots[id].storage == storage; });
  }

  void keep_demands_on_results(const Instruction& instruction) {
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      Slot& slot = program_.slots[id];
      const Demand* demand = demands_.widest(slot.storage);
      if (demand != nullptr && !slot.external && !slot.sparse) {
        slot.value = demand->rule;
      }
    });
  }

  /// Pins the results: a replay generates them. Integers without a demand become zero, which is
  /// always valid; other numbers get the default rule.
  void pin_results(Instruction& instruction) {
    instruction.pinned = true;
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      Slot& slot = program_.slots[id];
      if (std::optional<ValueRule> rule = demands_.rule_of_all(slot)) {
        slot.value = std::move(rule);
      }
      if (!slot.value && et_schema::is_integral(slot.dtype) && !slot.sizes.empty()) {
        slot.value = ValueRule{ValueRule::Zeros{}};
      }
    });
  }

  /// Demands that rows_per_table is the number of rows in the later lookup with the same indices.
  void ask_rows_per_table(const Instruction& instruction) {
    const Argument* rows = find_argument(program_, instruction, "rows_per_table");
    const std::optional<SlotId> indices = slot_named(program_, instruction, "indices");
    if (rows == nullptr || !indices) {
      return;
    }
    for (const Demand& demand :
         std::vector<Demand>(demands_.on(program_.slots[*indices].storage))) {
      if (const auto range = et_schema::range_of(demand.rule)) {
        demands_.ask(*rows, constant(static_cast<double>(range->high),
                                     "fbgemm::bounds_check_indices.rows_per_table"));
      }
    }
  }

  Program& program_;
  const CapturedValues& captured_;
  Demands demands_;
  SparseCounts sparse_counts_;
  ValueCarrier carrier_;
  std::vector<bool> known_;
  std::vector<bool> selected_;
};

}  // namespace

void assign_values(Program& program, const CapturedValues& captured, const IndexSpread& spread) {
  ValueAssigner(program, captured).assign(spread);
  weaken_rules(program);
}

}  // namespace understudy::generator
