#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// The start of a text from an input, fit for an error message: at most 60 bytes, never cut inside
/// of a UTF-8 character, control characters and invalid bytes as "?".
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace understudy::et_schema
