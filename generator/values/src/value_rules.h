#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/program.h"
#include "et_schema/model/slot_extent.h"

namespace understudy::generator {

using et_schema::ArgumentFact;
using et_schema::Meaning;
using et_schema::operator_facts;
using et_schema::OperatorFacts;
using et_schema::without_overload;

/// Returns the value rule that a row demands in one call; empty if the call has no such argument or
/// size.
[[nodiscard]] std::optional<et_schema::ValueRule> make_rule(
    const ArgumentFact& row, const et_schema::Program& program,
    const et_schema::Instruction& instruction);

/// Returns the rule for the ends of `groups` groups over `rows` rows. The groups have the captured
/// sizes, or equal sizes if `captured` is null.
[[nodiscard]] et_schema::ValueRule group_ends(std::int64_t groups, std::int64_t rows,
                                              const et_schema::Reuse* captured);
/// Returns the lengths of the groups if a rule describes ends of groups; else empty.
[[nodiscard]] std::optional<et_schema::ValueRule> lengths_of_ends(const et_schema::ValueRule& rule);

/// Names the row that demands a rule: "aten::embedding.indices".
[[nodiscard]] std::string why_of(const OperatorFacts& facts, const ArgumentFact& row);

/// Returns true if the number of true elements decides the shape of the result.
[[nodiscard]] bool decides_a_shape(const ArgumentFact& row,
                                   const et_schema::Instruction& instruction);

/// Returns true if a slot used as an index is a mask: Boolean, or the older unsigned bytes.
[[nodiscard]] bool is_mask(const et_schema::Slot& slot);

/// Returns an instruction's argument by its name in the recorded schema; null if there is none.
[[nodiscard]] const et_schema::Argument* find_argument(const et_schema::Program& program,
                                                       const et_schema::Instruction& instruction,
                                                       std::string_view name);
/// Returns the tensor of an argument; empty for a list, and for null.
[[nodiscard]] std::optional<et_schema::SlotId> slot_of(const et_schema::Argument* argument);
/// Returns the tensor of the argument with this name.
[[nodiscard]] std::optional<et_schema::SlotId> slot_named(const et_schema::Program& program,
                                                          const et_schema::Instruction& instruction,
                                                          std::string_view name);
/// Returns the tensor at a position among arguments or results; empty beyond their end.
[[nodiscard]] std::optional<et_schema::SlotId> slot_at(
    const std::vector<et_schema::Argument>& arguments, std::size_t place);

}  // namespace understudy::generator
