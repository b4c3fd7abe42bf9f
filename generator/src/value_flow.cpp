#include "value_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "demands.h"
#include "masks.h"
#include "sparse_counts.h"
#include "unwritten.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;
using et_schema::ValueRule;
using et_schema::ValueRuleKind;

/// Rows that one storage sends to each rank, for lengths that must agree with the values sent
/// beside them.
struct SentParts {
  std::int64_t offset = 0;
  std::vector<std::int64_t> splits;
};

/// An operator whose result holds its argument's values, in the same order (`same_order`) or in
/// another.
struct ValueMover {
  std::string_view op;
  std::string_view from;
  bool same_order;
};

constexpr auto kMovers = std::to_array<ValueMover>({
    {"aten::_pin_memory", "self", true},
    {"aten::_reshape_copy", "self", true},
    {"aten::_to_copy", "self", true},
    {"aten::cat", "tensors", false},
    {"aten::clone", "self", true},
    {"aten::constant_pad_nd", "self", false},
    {"aten::contiguous", "self", true},
    {"aten::copy_", "src", true},
    {"aten::cpu", "self", true},
    {"aten::cuda", "self", true},
    {"aten::expand_copy", "self", false},
    {"aten::flip", "self", false},
    {"aten::gather", "self", false},
    {"aten::index", "self", false},
    {"aten::index_select", "self", false},
    {"aten::lift", "self", true},
    {"aten::lift_fresh", "self", true},
    {"aten::lift_fresh_copy", "self", true},
    {"aten::masked_select", "self", false},
    {"aten::pin_memory", "self", true},
    {"aten::repeat", "self", false},
    {"aten::repeat_interleave", "self", false},
    {"aten::reshape", "self", true},
    {"aten::roll", "self", false},
    {"aten::stack", "tensors", false},
    {"aten::to", "self", true},
    {"aten::type_as", "self", true},
    {"aten::view_copy", "self", true},
    {"fbgemm::permute_1D_sparse_data", "values", false},
    {"fbgemm::permute_2D_sparse_data", "values", false},
});

/// Operators whose result is above zero where their first argument is well above it (an optimizer's
/// way from its second moments to a denominator).
constexpr auto kKeepPositive = std::to_array<std::string_view>({"aten::_foreach_add",
                                                                "aten::_foreach_div",
                                                                "aten::_foreach_maximum",
                                                                "aten::_foreach_mul",
                                                                "aten::_foreach_sqrt",
                                                                "aten::_values",
                                                                "aten::add",
                                                                "aten::add_",
                                                                "aten::addcmul",
                                                                "aten::bmm",
                                                                "aten::clamp",
                                                                "aten::clamp_min",
                                                                "aten::div",
                                                                "aten::matmul",
                                                                "aten::maximum",
                                                                "aten::mean",
                                                                "aten::mm",
                                                                "aten::mul",
                                                                "aten::sparse_mask",
                                                                "aten::sqrt",
                                                                "aten::values"});

class ValueAssigner {
 public:
  ValueAssigner(Program& program, const CapturedRanges& ranges)
      : program_(program), ranges_(ranges), demands_(program), sparse_counts_(program) {}

  void assign() {
    const std::vector<bool> unwritten = find_unwritten_allocations(program_);
    for (std::size_t i = program_.instructions.size(); i-- > 0;) {
      if (unwritten[i]) {
        pin_results(program_.instructions[i]);
      }
      visit(program_.instructions[i]);
    }
    demands_.write();
  }

 private:
  void visit(Instruction& instruction) {
    if (instruction.kind == InstructionKind::kCollective) {
      visit_collective(instruction);
      return;
    }
    if (instruction.kind != InstructionKind::kOp) {
      return;
    }
    const std::string_view op = without_overload(instruction.name);
    if (has_pinned_results(op)) {
      pin_results(instruction);
    }
    sparse_counts_.visit(instruction, demands_);
    carry_through(instruction, op);
    carry_positive(instruction, op);
    carry_through_jagged(instruction, op);
    for (const ArgumentRule& row : argument_rules(op)) {
      ask(instruction, row);
    }
    use_captured_ranges(instruction);
  }

  /// A captured range narrows a demand on integers. Offsets and lengths say more than a range does;
  /// of targets it tells whether some are ignored.
  void use_captured_ranges(const Instruction& instruction) {
    const auto captured = ranges_.find(instruction.node_id);
    if (captured == ranges_.end()) {
      return;
    }
    const std::vector<std::optional<SlotId>> tensors = flat_tensors(instruction.args);
    for (const CapturedRange& range : captured->second) {
      if (range.tensor >= tensors.size() || !tensors[range.tensor]) {
        continue;
      }
      Slot& slot = program_.slots[*tensors[range.tensor]];
      if (slot.wrapped_number && range.min == range.max) {
        slot.value = constant(static_cast<double>(range.min), kCapturedRange);
        continue;
      }
      if (!et_schema::is_integral(slot.dtype) || slot.sparse || slot.wrapped_number ||
          is_overwritten(instruction, *tensors[range.tensor]) ||
          range.max == std::numeric_limits<std::int64_t>::max()) {
        continue;
      }
      ValueRule rule;
      rule.kind = ValueRuleKind::kIntegers;
      rule.low = range.min;
      rule.high = range.max + 1;
      rule.why = kCapturedRange;
      demands_.ask(*tensors[range.tensor], rule);
    }
  }

  /// The range is taken before the operator runs: of memory that it is about to overwrite it tells
  /// nothing.
  [[nodiscard]] static bool is_overwritten(const Instruction& instruction, SlotId slot) {
    bool overwritten = false;
    et_schema::for_each_slot(instruction.results,
                             [&](SlotId result) { overwritten = overwritten || result == slot; });
    return overwritten;
  }

  [[nodiscard]] static ValueRule constant(double value, std::string why) {
    ValueRule rule;
    rule.kind = ValueRuleKind::kConstant;
    rule.a = value;
    rule.why = std::move(why);
    return rule;
  }

  /// By flat tensor index; nothing for an undefined tensor.
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

  void ask(const Instruction& instruction, const ArgumentRule& row) {
    const Argument* argument = find_argument(program_, instruction, row.argument);
    if (argument == nullptr) {
      return;
    }
    const std::string why = fmt::format("{}.{}", row.op, row.argument);
    if (row.meaning == Meaning::kIndexList) {
      ask_index_list(instruction, *argument, why);
      return;
    }
    std::optional<ValueRule> rule = make_rule(row, program_, instruction);
    if (!rule) {
      return;
    }
    rule->why = why;
    if (row.op == "fbgemm::bounds_check_indices") {
      ask_rows_per_table(instruction);
    }
    demand_of(*argument, *rule);
  }

  void demand_of(const Argument& argument, const ValueRule& rule) {
    if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
      demands_.ask(slot->id, rule);
    } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (const Argument& item : *list) {
        demand_of(item, rule);
      }
    }
  }

  /// Element i of the list indexes dimension i; a mask takes as many dimensions as it has.
  void ask_index_list(const Instruction& instruction, const Argument& argument,
                      const std::string& why) {
    const auto* list = std::get_if<Argument::List>(&argument.value);
    const Argument* self = find_argument(program_, instruction, "self");
    const auto* self_slot =
        self == nullptr ? nullptr : std::get_if<Argument::SlotRef>(&self->value);
    if (list == nullptr || self_slot == nullptr) {
      return;
    }
    const std::vector<std::int64_t>& sizes = program_.slots[self_slot->id].sizes;
    std::size_t dim = 0;
    for (const Argument& item : *list) {
      const auto* index = std::get_if<Argument::SlotRef>(&item.value);
      const bool is_mask_item = index != nullptr && is_mask(program_.slots[index->id]);
      if (index != nullptr && !is_mask_item && dim < sizes.size()) {
        ValueRule rule;
        rule.kind = ValueRuleKind::kIntegers;
        rule.high = std::max<std::int64_t>(sizes[dim], 1);
        rule.why = why;
        demands_.ask(index->id, rule);
      }
      dim += is_mask_item ? program_.slots[index->id].sizes.size() : 1;
    }
  }

  /// Integers of which nothing is asked are zero, which is valid everywhere; other numbers as by
  /// default.
  void pin_results(Instruction& instruction) {
    instruction.pinned = true;
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      Slot& slot = program_.slots[id];
      for (const Demand& demand : demands_.on(slot.storage)) {
        slot.value = demand.rule;
      }
      if (!slot.value && et_schema::is_integral(slot.dtype) && !slot.sizes.empty()) {
        slot.value = ValueRule{};
      }
    });
  }

  // ---- against the flow ----

  void carry_through(const Instruction& instruction, std::string_view op) {
    const auto mover = std::ranges::find(kMovers, op, &ValueMover::op);
    if (mover == kMovers.end() || instruction.results.empty()) {
      return;
    }
    const auto* result = std::get_if<Argument::SlotRef>(&instruction.results[0].value);
    const std::size_t moved =
        op == "fbgemm::permute_2D_sparse_data" || op == "fbgemm::permute_1D_sparse_data" ? 1 : 0;
    if (moved < instruction.results.size()) {
      result = std::get_if<Argument::SlotRef>(&instruction.results[moved].value);
    }
    const Argument* source = find_argument(program_, instruction, mover->from);
    if (result != nullptr && source != nullptr) {
      carry(result->id, *source, mover->same_order);
    }
  }

  void carry(SlotId to, const Argument& from, bool same_order) {
    if (const auto* list = std::get_if<Argument::List>(&from.value)) {
      for (const Argument& item : *list) {
        carry(to, item, same_order);
      }
      return;
    }
    const auto* source_id = std::get_if<Argument::SlotRef>(&from.value);
    if (source_id == nullptr) {
      return;
    }
    const Slot target = program_.slots[to];
    const Slot source = program_.slots[source_id->id];
    if (target.storage == source.storage || source.sparse) {
      return;
    }
    const std::int64_t count = element_count(target);
    const bool in_order = same_order && count == element_count(source);
    const std::vector<Demand> demands = demands_.on(target.storage);
    for (Demand demand : demands) {
      const bool inside =
          demand.offset >= target.offset && demand.offset + demand.count <= target.offset + count;
      demand.dtype = source.dtype;
      if (inside && in_order) {
        demand.offset += source.offset - target.offset;
        demands_.add(source.storage, demand);
      } else if (is_order_free(demand.rule.kind)) {
        demand.offset = source.offset;
        demand.count = element_count(source);
        demands_.add(source.storage, demand);
      }
    }
    const auto sent = sent_.find(target.storage);
    if (in_order && sent != sent_.end()) {
      sent_[source.storage] = {sent->second.offset + source.offset - target.offset,
                               sent->second.splits};
    }
  }

  /// addcmul can subtract a square (centered RMSprop): its first argument is then taken from far
  /// above.
  void carry_positive(const Instruction& instruction, std::string_view op) {
    if (std::ranges::find(kKeepPositive, op) == kKeepPositive.end()) {
      return;
    }
    std::optional<ValueRule> positive;
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      for (const Demand& demand : demands_.on(program_.slots[id].storage)) {
        if (demand.rule.kind == ValueRuleKind::kUniform && demand.rule.a > 0) {
          positive = demand.rule;
        }
      }
    });
    if (!positive) {
      return;
    }
    if (op == "aten::addcmul") {
      positive->a = 64;
      positive->b = 128;
    }
    for (const char* name : {"self", "mat1", "mat2"}) {
      if (const Argument* argument = find_argument(program_, instruction, name)) {
        demand_of(*argument, *positive);
      }
    }
    // A sum, of products too, is above zero where both parts are.
    const Argument* other = find_argument(program_, instruction, "other");
    if (other != nullptr && (op == "aten::add" || op == "aten::add_" || op == "aten::matmul")) {
      demand_of(*other, *positive);
    }
  }

  // ---- jagged data: lengths, offsets and values that agree ----

  void visit_collective(const Instruction& instruction) {
    const auto* inputs = instruction.args.empty()  // a barrier
                             ? nullptr
                             : std::get_if<Argument::List>(&instruction.args.front().value);
    if (inputs == nullptr || inputs->size() != 1 || !instruction.comm ||
        instruction.comm->in_splits.empty()) {
      return;
    }
    if (const auto* slot = std::get_if<Argument::SlotRef>(&inputs->front().value)) {
      sent_[program_.slots[slot->id].storage] = {program_.slots[slot->id].offset,
                                                 instruction.comm->in_splits};
    }
  }

  void carry_through_jagged(const Instruction& instruction, std::string_view op) {
    if (op == "fbgemm::asynchronous_complete_cumsum") {
      offsets_to_lengths(instruction);
    } else if (op == "fbgemm::permute_2D_sparse_data" || op == "fbgemm::permute_1D_sparse_data") {
      lengths_of_permuted(instruction);
    }
  }

  /// Offsets that end at N are running sums of lengths that add up to N.
  void offsets_to_lengths(const Instruction& instruction) {
    const auto* result = instruction.results.empty()
                             ? nullptr
                             : std::get_if<Argument::SlotRef>(&instruction.results.front().value);
    const Argument* source = find_argument(program_, instruction, "t_in");
    const auto* lengths =
        source == nullptr ? nullptr : std::get_if<Argument::SlotRef>(&source->value);
    if (result == nullptr || lengths == nullptr) {
      return;
    }
    for (const Demand& demand :
         std::vector<Demand>(demands_.on(program_.slots[result->id].storage))) {
      if (demand.rule.kind == ValueRuleKind::kOffsets) {
        demands_.ask(lengths->id,
                     lengths_rule({{element_count(program_.slots[lengths->id]), demand.rule.high}},
                                  demand.rule.why));
      }
    }
  }

  /// The permutation is made as the identity, so what is asked of the permuted lengths holds for
  /// the lengths: parts sent to each rank add up to the values sent beside them, and all of them to
  /// the number of values.
  void lengths_of_permuted(const Instruction& instruction) {
    const Argument* source = find_argument(program_, instruction, "lengths");
    const auto* lengths =
        source == nullptr ? nullptr : std::get_if<Argument::SlotRef>(&source->value);
    if (lengths == nullptr || instruction.results.size() < 2) {
      return;
    }
    const auto* permuted = std::get_if<Argument::SlotRef>(&instruction.results[0].value);
    const auto* values = std::get_if<Argument::SlotRef>(&instruction.results[1].value);
    if (permuted == nullptr || values == nullptr) {
      return;
    }
    const auto sent_lengths = sent_.find(program_.slots[permuted->id].storage);
    const auto sent_values = sent_.find(program_.slots[values->id].storage);
    if (sent_lengths == sent_.end() || sent_values == sent_.end() ||
        sent_lengths->second.splits.size() != sent_values->second.splits.size()) {
      return;
    }
    std::int64_t count_left = element_count(program_.slots[lengths->id]);
    std::int64_t sum_left = element_count(program_.slots[values->id]);
    std::vector<ValueRule::Segment> segments;
    for (std::size_t i = 0; i < sent_lengths->second.splits.size(); ++i) {
      segments.push_back({sent_lengths->second.splits[i], sent_values->second.splits[i]});
      count_left -= segments.back().count;
      sum_left -= segments.back().sum;
    }
    if (count_left < 0 || sum_left < 0) {
      return;
    }
    if (count_left > 0) {
      segments.push_back({count_left, sum_left});
    }
    demands_.ask(lengths->id, lengths_rule(std::move(segments), "all_to_allv.in_splits"));
  }

  [[nodiscard]] static ValueRule lengths_rule(std::vector<ValueRule::Segment> segments,
                                              std::string why) {
    ValueRule rule;
    rule.kind = ValueRuleKind::kLengths;
    rule.segments = std::move(segments);
    rule.why = std::move(why);
    return rule;
  }

  /// Rows as the lookup has them, which uses the same indices later.
  void ask_rows_per_table(const Instruction& instruction) {
    const Argument* rows = find_argument(program_, instruction, "rows_per_table");
    const Argument* indices = find_argument(program_, instruction, "indices");
    const auto* slot =
        indices == nullptr ? nullptr : std::get_if<Argument::SlotRef>(&indices->value);
    if (rows == nullptr || slot == nullptr) {
      return;
    }
    for (const Demand& demand :
         std::vector<Demand>(demands_.on(program_.slots[slot->id].storage))) {
      if (demand.rule.kind == ValueRuleKind::kIntegers) {
        demand_of(*rows, constant(static_cast<double>(demand.rule.high),
                                  "fbgemm::bounds_check_indices.rows_per_table"));
      }
    }
  }

  // ---- the result ----

  Program& program_;
  const CapturedRanges& ranges_;
  Demands demands_;
  SparseCounts sparse_counts_;
  std::map<StorageId, SentParts> sent_;
};

}  // namespace

void assign_values(Program& program, const CapturedRanges& ranges) {
  ValueAssigner(program, ranges).assign();
}

}  // namespace understudy::generator
