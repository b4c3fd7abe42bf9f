#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Whether a text has characters that a terminal obeys rather than shows: U+0000 to U+001F, U+007F
/// to U+009F, those that turn the direction of the text around them (U+202A to U+202E, U+2066 to
/// U+2069), and bytes that are no UTF-8. Names never have them: the project's own formats refuse
/// such a name, and the readers of traces escape it.
[[nodiscard]] bool has_control_characters(std::string_view text);

/// Writes each control character as \u001b, and each byte that is no UTF-8 as \xff. In JSON, which
/// is UTF-8, the former means the same character. Characters in `kept` stay.
[[nodiscard]] std::string escape_control_characters(std::string_view text,
                                                    std::string_view kept = {});

/// The number of bytes of the UTF-8 character at the start of `text`, which is not empty; 0 if it
/// does not start with one (RFC 3629).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Whether a whole UTF-8 character is a control character.
[[nodiscard]] bool is_control_character(std::string_view character);

}  // namespace understudy::et_schema
