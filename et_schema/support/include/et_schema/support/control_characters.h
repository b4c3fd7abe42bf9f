#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// What a terminal obeys rather than shows: U+0000 to U+001F, U+007F to U+009F, what turns the
/// direction of the text around it (U+202A to U+202E, U+2066 to U+2069), and bytes that are no
/// UTF-8. Names never have them: files of ours with such a name are refused, and the readers of
/// traces escape it.
[[nodiscard]] bool has_control_characters(std::string_view text);

/// Each control character as \u001b, each byte that is no UTF-8 as \xff. In JSON, which is UTF-8,
/// this means the same character. Those in `kept` stay.
[[nodiscard]] std::string escape_control_characters(std::string_view text,
                                                    std::string_view kept = {});

/// Bytes of the UTF-8 character at the start of `text`, which is not empty; 0 where there is none
/// (RFC 3629).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Whether a whole UTF-8 character is a control character.
[[nodiscard]] bool is_control_character(std::string_view character);

}  // namespace understudy::et_schema
