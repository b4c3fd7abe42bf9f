#pragma once

#include <string_view>

namespace understudy::et_schema {

/// Begins the names of a simulator's work, of which a time is known, and perhaps a number of
/// operations and bytes: its second and third argument.
inline constexpr std::string_view kTimedWork = "chakra::";

}  // namespace understudy::et_schema
