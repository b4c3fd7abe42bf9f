#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace understudy::calibrator {

/// Values of a recipe's dimensions.
using Dimensions = std::map<std::string, std::int64_t, std::less<>>;

/// A text that is read from the front.
struct TextCursor {
  std::string_view rest;

  void skip_blanks();
  [[nodiscard]] bool at_end() const { return rest.empty(); }
  [[nodiscard]] char peek() const { return rest.empty() ? '\0' : rest.front(); }
  /// Takes `expected` if it comes next.
  bool take(std::string_view expected);
  /// Letters, digits and underscores.
  std::string_view word();
};

/// Integer arithmetic on dimensions: numbers, names, + - * /, parentheses; `/` rounds down. Recipes
/// are our own text: what is wrong in one is a broken invariant.
[[nodiscard]] std::int64_t read_expression(TextCursor& text, const Dimensions& dimensions);
/// The same in floating point, for products of work that overflow.
[[nodiscard]] double read_real_expression(TextCursor& text, const Dimensions& dimensions);

}  // namespace understudy::calibrator
