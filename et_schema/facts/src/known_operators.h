#pragma once

#include <string_view>

namespace understudy::et_schema {

/// The built-in operator map: known_operators.json.
extern const std::string_view kKnownOperators;

}  // namespace understudy::et_schema
