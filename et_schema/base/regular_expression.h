#pragma once

#include <regex>
#include <string>

namespace understudy::et_schema {

/// Compiles an expression over names, in ECMAScript's grammar without back-references. Names and
/// plans come from untrusted files, so a match takes time linear in the name's length and no stack;
/// the library's default limits neither. Throws std::regex_error if the text is not an expression,
/// or is longer than 2,000 characters.
[[nodiscard]] inline std::regex regular_expression(const std::string& text) {
  constexpr std::size_t kMostCharacters = 2000;
  if (text.size() > kMostCharacters) {
    throw std::regex_error(std::regex_constants::error_complexity);
  }
  return std::regex(text, std::regex_constants::ECMAScript | std::regex_constants::optimize |
                              std::regex_constants::__polynomial);
}

}  // namespace understudy::et_schema
