#pragma once

#include <optional>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Convert enumerators to their names in the project's files, and back.
[[nodiscard]] std::string_view to_string(const ValueRule::Kind& kind);
/// Returns a kind of rule with default parameters.
[[nodiscard]] std::optional<ValueRule::Kind> value_rule_kind_from_string(std::string_view name);
[[nodiscard]] std::optional<CommKind> comm_kind_from_string(std::string_view name);

}  // namespace understudy::et_schema
