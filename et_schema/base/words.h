#pragma once

#include <algorithm>
#include <string_view>

namespace understudy::et_schema {

/// Calls `visit` with each name of a list such as "mm bmm addmm", separated by single blanks, until
/// it returns true. Returns true if it did.
template <typename Visit>
constexpr bool any_word(std::string_view words, const Visit& visit) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (visit(word)) {
      return true;
    }
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return false;
}

[[nodiscard]] constexpr bool has_word(std::string_view words, std::string_view word) {
  return any_word(words, [word](std::string_view other) { return other == word; });
}

}  // namespace understudy::et_schema
