#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Returns the start of an input's text for an error message: at most 60 bytes, not cut inside a
/// UTF-8 character, with "?" for control characters and invalid bytes.
[[nodiscard]] std::string quote(std::string_view text);

/// Returns a CSV cell, quoted if RFC 4180 requires it. Prefixes a text that a spreadsheet would
/// interpret as a formula with an apostrophe.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace understudy::et_schema
