#pragma once

#include <regex>
#include <string>

namespace understudy::et_schema {

/// An expression over names, in ECMAScript's grammar without back-references. Names and plans come
/// from files of other people, so a match takes time by the name's length and no stack; the
/// library's default may take both without limit. Throws std::regex_error for a text that is no
/// expression, and for one of more than 2,000 characters.
[[nodiscard]] inline std::regex regular_expression(const std::string& text) {
  constexpr std::size_t kMostCharacters = 2000;
  if (text.size() > kMostCharacters) {
    throw std::regex_error(std::regex_constants::error_complexity);
  }
  return std::regex(text, std::regex_constants::ECMAScript | std::regex_constants::optimize |
                              std::regex_constants::__polynomial);
}

}  // namespace understudy::et_schema
