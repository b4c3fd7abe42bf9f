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

/// The value rule that a row asks for in one call; none where the call has no such argument or
/// size.
[[nodiscard]] std::optional<et_schema::ValueRule> make_rule(
    const ArgumentFact& row, const et_schema::Program& program,
    const et_schema::Instruction& instruction);

/// Ends of `groups` groups of `rows` rows together, as large as captured (null: equal).
[[nodiscard]] et_schema::ValueRule group_ends(std::int64_t groups, std::int64_t rows,
                                              const et_schema::Reuse* captured);
/// Where a rule holds such ends, the lengths of the groups.
[[nodiscard]] std::optional<et_schema::ValueRule> lengths_of_ends(const et_schema::ValueRule& rule);

/// "aten::embedding.indices": on behalf of which row a rule is asked for.
[[nodiscard]] std::string why_of(const OperatorFacts& facts, const ArgumentFact& row);

/// Whether the number of true elements decides the shape of the result.
[[nodiscard]] bool decides_a_shape(const ArgumentFact& row,
                                   const et_schema::Instruction& instruction);

/// Whether a slot used as an index is a mask: Boolean, or the older unsigned bytes.
[[nodiscard]] bool is_mask(const et_schema::Slot& slot);

/// An argument of an instruction by its name in the recorded schema; null if there is none.
[[nodiscard]] const et_schema::Argument* find_argument(const et_schema::Program& program,
                                                       const et_schema::Instruction& instruction,
                                                       std::string_view name);
/// The tensor that an argument is; none of a list, and of null.
[[nodiscard]] std::optional<et_schema::SlotId> slot_of(const et_schema::Argument* argument);
/// That of an argument with this name.
[[nodiscard]] std::optional<et_schema::SlotId> slot_named(const et_schema::Program& program,
                                                          const et_schema::Instruction& instruction,
                                                          std::string_view name);
/// That at a place among arguments or results; none behind their end.
[[nodiscard]] std::optional<et_schema::SlotId> slot_at(
    const std::vector<et_schema::Argument>& arguments, std::size_t place);

}  // namespace understudy::generator
