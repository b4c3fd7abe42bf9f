#pragma once

#include <string>
#include <string_view>

namespace understudy::emitter {

/// Texts of traces, benchmarks and command lines in source. Nothing else puts them there: whatever
/// they hold, they end where the literal, the comment or the name ends that they become. The same
/// text stands for C++ and for Python.

/// A string literal of printable ASCII that reads as the text. Bytes that are no UTF-8 are \ooo.
[[nodiscard]] std::string text_literal(std::string_view text);

/// The text as such literals, a line each, indented by so many columns.
[[nodiscard]] std::string lines_literal(std::string_view text, std::size_t indent);

/// What a comment shows: the text where it is plain, else its literal.
[[nodiscard]] std::string commented(std::string_view text);

/// Letters, digits and "_", not beginning with a digit or "_"; no word or macro of C++ or Python.
[[nodiscard]] std::string identifier(std::string_view text);

/// Whether a text is a name as C++, Python and LibTorch's schemas have them.
[[nodiscard]] bool is_name(std::string_view text);
/// Whether Python takes such a name for a word of its own.
[[nodiscard]] bool is_python_word(std::string_view name);

}  // namespace understudy::emitter
