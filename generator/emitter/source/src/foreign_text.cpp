#include "foreign_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "et_schema/base/control_characters.h"
#include "et_schema/base/words.h"

namespace understudy::emitter {
namespace {

constexpr std::string_view kPythonWords =
    "False None True and as assert async await break class continue def del elif else except "
    "finally for from global if import in is lambda nonlocal not or pass raise return try while "
    "with yield";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string text_literal(std::string_view text) {
  std::string literal = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = et_schema::utf8_length(text);
    if (length == 0) {
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else if (length > 1) {
      const std::uint32_t code = et_schema::code_point(text.substr(0, length));
      literal += code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
    } else if (c == '"' || c == '\\') {
      literal += {'\\', c};
    } else if (c == '\n') {
      literal += "\\n";
    } else if (c < ' ' || c == '\x7F') {
      literal += fmt::format("\\{:03o}", static_cast<int>(c));
    } else {
      literal += c;
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return literal + "\"";
}

std::string commented(std::string_view text) {
  std::string literal = text_literal(text);
  const bool is_plain = !text.empty() && literal.substr(1, literal.size() - 2) == text;
  return is_plain ? std::string(text) : literal;
}

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

bool is_python_word(std::string_view name) {
  return et_schema::has_word(kPythonWords, name);
}

}  // namespace understudy::emitter
