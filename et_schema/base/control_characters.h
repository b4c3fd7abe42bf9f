#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Returns true if a text has characters that a terminal interprets instead of showing them: U+0000
/// to U+001F, U+007F to U+009F, the direction controls U+202A to U+202E and U+2066 to U+2069, and
/// bytes that are not UTF-8. Names never have them: the project's own formats refuse such a name,
/// and the readers of traces escape it.
[[nodiscard]] bool has_control_characters(std::string_view text);

/// Writes each control character as \u001b, and each byte that is not UTF-8 as \xff. JSON reads
/// \u001b as the same character. Characters in `kept` stay.
[[nodiscard]] std::string escape_control_characters(std::string_view text,
                                                    std::string_view kept = {});

/// Returns the length in bytes of the UTF-8 character at the start of `text`; 0 if `text` does not
/// start with one (RFC 3629). `text` must not be empty.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Returns the code point of a whole UTF-8 character.
[[nodiscard]] std::uint32_t code_point(std::string_view character);

/// Returns true if a whole UTF-8 character is a control character.
[[nodiscard]] bool is_control_character(std::string_view character);

}  // namespace understudy::et_schema
