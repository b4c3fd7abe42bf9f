#pragma once

#include <optional>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The names of enumerators in our files, each with its way back.
[[nodiscard]] std::string_view to_string(const ValueRule::Kind& kind);
/// A kind of rule without parameters.
[[nodiscard]] std::optional<ValueRule::Kind> value_rule_kind_from_string(std::string_view name);
[[nodiscard]] std::optional<CommKind> comm_kind_from_string(std::string_view name);
[[nodiscard]] std::optional<Outside> outside_named(std::string_view name);

}  // namespace understudy::et_schema
