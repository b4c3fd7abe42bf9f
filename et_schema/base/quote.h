#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// The start of an input's text, fit for an error message: at most 60 bytes, never cut inside a
/// UTF-8 character, with control characters and invalid bytes as "?".
[[nodiscard]] std::string quote(std::string_view text);

/// A cell of csv, quoted where RFC 4180 wants it. A text that a spreadsheet would take for a
/// formula gets an apostrophe before it.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace understudy::et_schema
