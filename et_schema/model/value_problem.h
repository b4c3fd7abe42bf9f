#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "et_schema/model/value_rule.h"

namespace understudy::et_schema {

/// Why no content satisfies a value rule.
struct RuleProblem {
  std::string expected;
  std::string got;
};

/// Returns nothing if `elements` elements can satisfy the rule.
[[nodiscard]] std::optional<RuleProblem> find_problem(const ValueRule& rule, std::int64_t elements);

}  // namespace understudy::et_schema
