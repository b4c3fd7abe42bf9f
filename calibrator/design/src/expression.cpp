#include "expression.h"

#include <cctype>
#include <cmath>
#include <string>

#include "et_schema/support/assert.h"

namespace understudy::calibrator {
namespace {

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

template <typename Number>
class Reader {
 public:
  Reader(TextCursor& text, const Dimensions& dimensions) : text_(text), dimensions_(dimensions) {}

  Number sum() {
    Number value = product();
    while (true) {
      if (text_.take("+")) {
        value += product();
      } else if (text_.take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

 private:
  Number product() {
    Number value = factor();
    while (true) {
      if (text_.take("*")) {
        value *= factor();
      } else if (text_.take("/")) {
        value = divided(value, factor());
      } else {
        return value;
      }
    }
  }

  static Number divided(Number value, Number by) {
    UNDERSTUDY_ASSERT(by != 0);
    if constexpr (std::is_integral_v<Number>) {
      return value / by;
    } else {
      return std::floor(value / by);
    }
  }

  Number factor() {
    text_.skip_blanks();
    if (text_.take("(")) {
      const Number value = sum();
      const bool closed = text_.take(")");
      UNDERSTUDY_ASSERT(closed);
      return value;
    }
    const std::string_view word = text_.word();
    UNDERSTUDY_ASSERT(!word.empty());
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      return static_cast<Number>(std::stoll(std::string(word)));
    }
    const auto found = dimensions_.find(word);
    UNDERSTUDY_ASSERT(found != dimensions_.end());
    return static_cast<Number>(found->second);
  }

  TextCursor& text_;
  const Dimensions& dimensions_;
};

}  // namespace

void TextCursor::skip_blanks() {
  while (!rest.empty() && rest.front() == ' ') {
    rest.remove_prefix(1);
  }
}

bool TextCursor::take(std::string_view expected) {
  if (!rest.starts_with(expected)) {
    return false;
  }
  rest.remove_prefix(expected.size());
  return true;
}

std::string_view TextCursor::word() {
  std::size_t length = 0;
  while (length < rest.size() && is_word(rest[length])) {
    ++length;
  }
  const std::string_view word = rest.substr(0, length);
  rest.remove_prefix(length);
  return word;
}

std::int64_t read_expression(TextCursor& text, const Dimensions& dimensions) {
  return Reader<std::int64_t>(text, dimensions).sum();
}

double read_real_expression(TextCursor& text, const Dimensions& dimensions) {
  return Reader<double>(text, dimensions).sum();
}

}  // namespace understudy::calibrator
