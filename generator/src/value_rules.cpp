#include "value_rules.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "et_schema/schema_text.h"

namespace understudy::generator {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::Slot;
using et_schema::ValueRule;
using et_schema::ValueRuleKind;

const Slot* slot_of(const Program& program, const Argument* argument) {
  const auto* reference =
      argument == nullptr ? nullptr : std::get_if<Argument::SlotRef>(&argument->value);
  return reference == nullptr ? nullptr : &program.slots[reference->id];
}

std::optional<std::int64_t> integer_of(const Argument* argument) {
  const auto* integer = argument == nullptr ? nullptr : std::get_if<std::int64_t>(&argument->value);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<double> number_of(const Argument* argument) {
  if (const std::optional<std::int64_t> integer = integer_of(argument)) {
    return static_cast<double>(*integer);
  }
  const auto* real = argument == nullptr ? nullptr : std::get_if<double>(&argument->value);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

const Slot* first_result(const Program& program, const Instruction& instruction) {
  const Slot* first = nullptr;
  et_schema::for_each_slot(instruction.results, [&](et_schema::SlotId id) {
    first = first == nullptr ? &program.slots[id] : first;
  });
  return first;
}

std::optional<std::int64_t> size_at(const Slot* slot, std::int64_t dim) {
  if (slot == nullptr) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(slot->sizes.size());
  if (rank == 0) {
    return 1;
  }
  dim = dim < 0 ? dim + rank : dim;
  return dim < 0 || dim >= rank ? std::nullopt
                                : std::optional(slot->sizes[static_cast<std::size_t>(dim)]);
}

ValueRule integers_below(std::int64_t high) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kIntegers;
  rule.high = std::max<std::int64_t>(high, 1);
  return rule;
}

ValueRule uniform(double low, double high) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kUniform;
  rule.a = low;
  rule.b = high;
  return rule;
}

ValueRule normal(double deviation) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kNormal;
  rule.b = deviation;
  return rule;
}

ValueRule constant(double value) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kConstant;
  rule.a = value;
  return rule;
}

ValueRule arange(std::int64_t step) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kArange;
  rule.high = step;
  return rule;
}

ValueRule lengths(std::int64_t count, std::int64_t sum) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kLengths;
  rule.segments = {{count, sum}};
  return rule;
}

/// Lengths of padded sequences: the first as long as the longest can be, the others as equal as
/// their sum allows.
std::optional<ValueRule> sorted_lengths(const Program& program, const Instruction& instruction,
                                        const Slot& input, const Slot& self) {
  const Argument* batch_first = find_argument(program, instruction, "batch_first");
  const auto* flag = batch_first == nullptr ? nullptr : std::get_if<bool>(&batch_first->value);
  const std::optional<std::int64_t> longest = size_at(&input, flag != nullptr && *flag ? 1 : 0);
  const std::int64_t count = element_count(self);
  const std::int64_t sum = size_at(first_result(program, instruction), 0).value_or(0);
  constexpr std::int64_t kMostSequences = 1 << 20;  // each is an entry of the program
  if (!longest || count < 1 || count > kMostSequences || sum < *longest) {
    return std::nullopt;
  }
  ValueRule rule;
  rule.kind = ValueRuleKind::kLengths;
  rule.segments.push_back({1, *longest});
  const std::int64_t others = std::max<std::int64_t>(count - 1, 1);
  const std::int64_t each = (sum - *longest) / others;
  const std::int64_t longer = (sum - *longest) % others;
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    rule.segments.push_back({1, each + (i < longer ? 1 : 0)});
  }
  return rule;
}

/// Rows of each of the tables that share one weights tensor, taken as equal: an fbgemm lookup
/// records only their sum.
std::int64_t rows_per_table(const Program& program, const Instruction& instruction,
                            const Slot& weights) {
  const Slot* offsets = slot_of(program, find_argument(program, instruction, "weights_offsets"));
  const std::optional<std::int64_t> columns =
      integer_of(find_argument(program, instruction, "total_D"));
  if (offsets == nullptr || !columns || *columns <= 0) {
    return 1;
  }
  return std::max<std::int64_t>(element_count(weights) / *columns, 1);
}

/// Whether these are the offsets of a row-wise optimizer's state ("momentum1_offsets"): fewer
/// elements than weights.
bool has_one_state_a_row(const Program& program, const Instruction& instruction,
                         std::string_view offsets, const Slot& weights) {
  const std::string name = std::string(offsets.substr(0, offsets.find('_'))) + "_dev";
  const Slot* state = slot_of(program, find_argument(program, instruction, name));
  return state != nullptr && offsets.starts_with("momentum") &&
         element_count(*state) < element_count(weights);
}

std::optional<ValueRule> offsets_rule(const Program& program, const Instruction& instruction,
                                      const Slot& indices, const Slot& offsets) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kOffsets;
  rule.high = element_count(indices);
  const Argument* include_last = find_argument(program, instruction, "include_last_offset");
  const auto* flag = include_last == nullptr ? nullptr : std::get_if<bool>(&include_last->value);
  const Slot* weights_offsets =
      slot_of(program, find_argument(program, instruction, "weights_offsets"));
  // fbgemm's offsets always hold the end; PyTorch's where they are asked to.
  rule.include_last = flag == nullptr
                          ? weights_offsets != nullptr || instruction.name.starts_with("fbgemm::")
                          : *flag;
  return element_count(offsets) == 0 ? std::nullopt : std::optional(rule);
}

std::optional<ValueRule> class_rule(const Program& program, const Instruction& instruction,
                                    const Slot& scores, const Slot& target) {
  if (!et_schema::is_integral(target.dtype)) {
    return std::nullopt;  // class probabilities
  }
  ValueRule rule;
  rule.kind = ValueRuleKind::kTargets;
  rule.high = size_at(&scores, scores.sizes.size() > 1 ? 1 : 0).value_or(1);
  rule.low = integer_of(find_argument(program, instruction, "ignore_index")).value_or(-100);
  rule.a = 0;
  return rule;
}

/// Where each table, or its optimizer's state, starts in the memory that all of them share.
std::optional<ValueRule> table_offsets_rule(const Program& program, const Instruction& instruction,
                                            std::string_view argument, const Slot& weights) {
  const Slot* offsets = slot_of(program, find_argument(program, instruction, argument));
  const std::optional<std::int64_t> columns =
      integer_of(find_argument(program, instruction, "total_D"));
  if (!columns) {
    return std::nullopt;
  }
  const std::int64_t tables =
      offsets == nullptr ? 1 : std::max<std::int64_t>(element_count(*offsets), 1);
  const std::int64_t rows = rows_per_table(program, instruction, weights);
  return arange(has_one_state_a_row(program, instruction, argument, weights)
                    ? rows
                    : rows * (*columns / tables));
}

/// True in as many places as the first result has rows.
std::optional<ValueRule> mask_rule(const Program& program, const Instruction& instruction) {
  const Slot* result = first_result(program, instruction);
  const bool chooses =
      without_overload(instruction.name) == "aten::where" && instruction.args.size() > 1;
  if (result == nullptr || chooses) {
    return std::nullopt;
  }
  ValueRule rule;
  rule.kind = ValueRuleKind::kMask;
  rule.high = size_at(result, 0).value_or(0);
  return rule;
}

}  // namespace

std::optional<ValueRule> make_rule(const ArgumentRule& row, const Program& program,
                                   const Instruction& instruction) {
  const Slot* self = slot_of(program, find_argument(program, instruction, row.argument));
  const Slot* of = slot_of(program, find_argument(program, instruction, row.of));
  switch (row.meaning) {
    case Meaning::kIndex: {
      if (of != nullptr && instruction.name.starts_with("fbgemm::")) {
        return integers_below(rows_per_table(program, instruction, *of));
      }
      if (of != nullptr && (row.op == "aten::take" || row.op == "aten::put_")) {
        return integers_below(element_count(*of));
      }
      const std::int64_t dim =
          row.dim >= 0 ? row.dim
                       : integer_of(find_argument(program, instruction, "dim")).value_or(0);
      const std::optional<std::int64_t> size = size_at(of, dim);
      return size ? std::optional(integers_below(*size)) : std::nullopt;
    }
    case Meaning::kIndexBelow: {
      const std::optional<std::int64_t> bound =
          integer_of(find_argument(program, instruction, row.of));
      return bound && *bound > 0 ? std::optional(integers_below(*bound)) : std::nullopt;
    }
    case Meaning::kIndexList:
      return std::nullopt;  // a list: value_flow asks for each of its elements
    case Meaning::kClass:
      return of != nullptr && self != nullptr ? class_rule(program, instruction, *of, *self)
                                              : std::nullopt;
    case Meaning::kOffsets:
      return of != nullptr && self != nullptr ? offsets_rule(program, instruction, *of, *self)
                                              : std::nullopt;
    case Meaning::kLengths:
      return of != nullptr && self != nullptr
                 ? std::optional(lengths(element_count(*self), element_count(*of)))
                 : std::nullopt;
    case Meaning::kLengthsOfResult:
      // Of a running sum nothing is known but through what uses it: value_flow turns its result's
      // offsets to lengths.
      if (self == nullptr || instruction.name.starts_with("fbgemm::") ||
          instruction.results.empty()) {
        return std::nullopt;
      }
      return lengths(element_count(*self),
                     size_at(first_result(program, instruction), row.dim).value_or(0));
    case Meaning::kLabel: {
      ValueRule rule = integers_below(size_at(of, row.dim).value_or(2));
      rule.low = rule.high > 1 ? 1 : 0;
      return rule;
    }
    case Meaning::kSizeOf: {
      const std::optional<std::int64_t> size = size_at(of, row.dim);
      return size ? std::optional(constant(static_cast<double>(*size))) : std::nullopt;
    }
    case Meaning::kSortedLengths:
      return self != nullptr && of != nullptr ? sorted_lengths(program, instruction, *of, *self)
                                              : std::nullopt;
    case Meaning::kSelectsResult:
      return mask_rule(program, instruction);
    case Meaning::kSelectsAll: {
      ValueRule rule;
      rule.kind = ValueRuleKind::kMask;
      rule.high = of == nullptr ? 0 : element_count(*of);
      return of == nullptr ? std::nullopt : std::optional(rule);
    }
    case Meaning::kPermutation:
      return arange(1);
    case Meaning::kTableOffsets:
      return of != nullptr ? table_offsets_rule(program, instruction, row.argument, *of)
                           : std::nullopt;
    case Meaning::kTableRows:
      return of != nullptr ? std::optional(arange(rows_per_table(program, instruction, *of)))
                           : std::nullopt;
    case Meaning::kTableColumns: {
      // One offset a table, and the end.
      const std::int64_t tables =
          self == nullptr ? 1 : std::max<std::int64_t>(element_count(*self) - 1, 1);
      const std::optional<std::int64_t> columns =
          integer_of(find_argument(program, instruction, row.of));
      return columns ? std::optional(arange(*columns / tables)) : std::nullopt;
    }
    case Meaning::kProbability:
      return uniform(0.05, 0.95);
    case Meaning::kPositive:
    case Meaning::kScale:
      return uniform(0.5, 1.5);
    case Meaning::kSmall:
      return normal(0.01);
    case Meaning::kSecondMoment:
      return uniform(1e-4, 1e-3);
    case Meaning::kKeepMask: {
      // The backward's scale is 1 / (1 - p).
      const std::optional<double> scale = number_of(find_argument(program, instruction, "scale"));
      ValueRule rule;
      rule.kind = ValueRuleKind::kBernoulli;
      rule.a = scale && *scale >= 1 ? 1 / *scale : 0.9;
      return rule;
    }
    case Meaning::kStepCount:
      return constant(100);
  }
  return std::nullopt;
}

const Argument* find_argument(const Program& program, const Instruction& instruction,
                              std::string_view name) {
  if (!instruction.schema || name.empty()) {
    return nullptr;
  }
  const int index = et_schema::argument_index(program.schemas[*instruction.schema], name);
  const auto position = static_cast<std::size_t>(index);
  return index < 0 || position >= instruction.args.size() ? nullptr : &instruction.args[position];
}

std::string_view without_overload(std::string_view name) {
  return name.substr(0, name.find('.'));
}

std::int64_t element_count(const Slot& slot) {
  std::int64_t count = 1;
  for (std::int64_t size : slot.sizes) {
    count *= size;
  }
  return count;
}

}  // namespace understudy::generator
