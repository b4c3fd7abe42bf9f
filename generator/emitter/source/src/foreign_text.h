#pragma once

#include <string>
#include <string_view>

namespace understudy::emitter {

/// Escapes texts of traces, benchmarks and command lines for source code. All such texts pass
/// through these functions, so that no text can end the literal, comment or name that it becomes.

/// Returns a string literal of printable ASCII for the text. Bytes that are not UTF-8 become \ooo.
[[nodiscard]] std::string text_literal(std::string_view text);

/// Returns the text for use in a comment: unchanged if it is plain, otherwise as a literal.
[[nodiscard]] std::string commented(std::string_view text);

/// Returns true if a text is a valid name in Python and LibTorch's schemas.
[[nodiscard]] bool is_name(std::string_view text);
/// Returns true if such a name is a keyword of Python.
[[nodiscard]] bool is_python_word(std::string_view name);

}  // namespace understudy::emitter
