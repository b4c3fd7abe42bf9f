#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "et_schema/base/json_scan.h"

namespace understudy::et_schema {

/// Thrown when text that is read is no JSON. The code that reads a file repairs the text or says
/// where it stands.
class JsonDamage : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "text that is no JSON"; }
};

/// A place in JSON text from which values are taken one after the other, without a tree of them. A
/// copy is a second place in the same text, so lists that belong together can be walked side by
/// side. Text that is passed over is checked only for brackets and quotes. All members throw
/// JsonDamage where the text does not continue as JSON.
class JsonPull {
 public:
  /// Stands on the value that begins at `json[position]`, or after white space there.
  explicit JsonPull(std::string_view json, std::size_t position = 0)
      : at_(json.data() + position), end_(json.data() + json.size()) {
    skip_space();
  }

  [[nodiscard]] bool stands_on(char c) const { return at_ != end_ && *at_ == c; }
  /// The position in `json`, for JsonPull(json, position).
  [[nodiscard]] std::size_t position_in(std::string_view json) const {
    return static_cast<std::size_t>(at_ - json.data());
  }

  /// Goes to the next item of an array; if `first` is true, into the array, and `first` becomes
  /// false. Returns false at the array's end, which it passes. The item before must have been
  /// taken.
  [[nodiscard]] bool next_item(bool& first) { return next(first, '[', ']'); }
  /// The same for the members of an object; stands on the value of `key`, which keeps its escapes.
  [[nodiscard]] bool next_member(bool& first, std::string_view& key) {
    if (!next(first, '{', '}')) {
      return false;
    }
    bool has_escapes = false;
    key = raw_text(has_escapes);
    skip_space();
    expect(':');
    skip_space();
    return true;
  }

  // Each takes a scalar if it has that type; otherwise it stays in place and returns false.
  [[nodiscard]] bool take(std::int64_t& value) {
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;
    const bool is_negative = stands_on('-');
    std::uint64_t magnitude = 0;
    const char* end = digits_end(at_ + (is_negative ? 1 : 0), magnitude);
    if (end == nullptr || magnitude > kLimit - (is_negative ? 0 : 1)) {
      return false;
    }
    value = static_cast<std::int64_t>(is_negative ? ~magnitude + 1 : magnitude);
    at_ = end;
    return true;
  }
  [[nodiscard]] bool take(std::uint64_t& value) {
    const char* end = digits_end(at_, value);
    at_ = end != nullptr ? end : at_;
    return end != nullptr;
  }
  /// Takes integers too.
  [[nodiscard]] bool take(double& value);
  [[nodiscard]] bool take(bool& value);
  /// Takes a text and removes its escapes; `text` lies in the JSON itself, or in `unescaped` if it
  /// had any escapes.
  [[nodiscard]] bool take(std::string_view& text, std::string& unescaped) {
    if (!stands_on('"')) {
      return false;
    }
    bool has_escapes = false;
    text = raw_text(has_escapes);
    if (has_escapes) {
      text = unescape(text, unescaped);
    }
    return true;
  }

  /// Passes `text` if it comes next, letter for letter; for text that a writer always writes in the
  /// same way.
  [[nodiscard]] bool pass(std::string_view text) {
    const bool is_next = static_cast<std::size_t>(end_ - at_) >= text.size() &&
                         std::memcmp(at_, text.data(), text.size()) == 0;
    at_ += is_next ? text.size() : 0;
    return is_next;
  }
  /// Passes a value and returns its text. Throws Error (bad input) if brackets are nested too deep.
  std::string_view skip();

 private:
  [[nodiscard]] bool next(bool& first, char open, char close) {
    if (first) {
      expect(open);
      first = false;
      skip_space();
      if (!stands_on(close)) {
        return true;
      }
      ++at_;
      return false;
    }
    skip_space();
    if (stands_on(close)) {
      ++at_;
      return false;
    }
    expect(',');
    skip_space();
    return true;
  }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
      ++at_;
    }
  }
  void expect(char c) {
    if (!stands_on(c)) {
      throw JsonDamage();
    }
    ++at_;
  }
  /// Passes the text at this place and returns what is between the quotes.
  std::string_view raw_text(bool& has_escapes) {
    expect('"');
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    for (std::size_t position = 0;;) {
      position = find_mark<true>(rest, position);
      if (position >= rest.size()) {
        throw JsonDamage();
      }
      if (rest[position] == '"') {
        at_ += position + 1;
        return rest.substr(0, position);
      }
      if (rest[position] != '\\') {
        throw JsonDamage();
      }
      has_escapes = true;
      position += 2;  // the backslash and what it escapes
    }
  }
  [[nodiscard]] static std::string_view unescape(std::string_view raw, std::string& unescaped);
  [[nodiscard]] static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  [[nodiscard]] static bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }
  /// Where the digits from `begin` end, if they are a whole scalar below 2^64; null otherwise.
  [[nodiscard]] const char* digits_end(const char* begin, std::uint64_t& value) const {
    constexpr std::uint64_t kTen = 10;
    std::uint64_t result = 0;
    bool overflows = false;
    const char* digit = begin;
    for (; digit != end_ && is_digit(*digit); ++digit) {
      overflows = overflows || __builtin_mul_overflow(result, kTen, &result) ||
                  __builtin_add_overflow(result, static_cast<std::uint64_t>(*digit - '0'), &result);
    }
    const bool is_whole = digit != begin && (*begin != '0' || digit == begin + 1) &&
                          (digit == end_ || ends_scalar(*digit));
    if (!is_whole || overflows) {
      return nullptr;
    }
    value = result;
    return digit;
  }
  /// The scalar at this place, if it begins with a digit or a sign; it is not passed.
  [[nodiscard]] std::string_view number_text() const;

  const char* at_;
  const char* end_;
};

/// A value's text without white space.
[[nodiscard]] std::string minified(JsonPull value);
/// The start of a value as JSON, at most 60 bytes, for an error message.
[[nodiscard]] std::string describe(JsonPull value);

/// A field that is set by the name that files have for it.
template <typename Owner, typename T>
struct NamedField {
  std::string_view name;
  T Owner::*member;
};

/// Sets the field of that name to what take() returns; false if the table has none.
template <typename Owner, typename T, std::size_t kCount>
bool take_named(const NamedField<Owner, T> (&fields)[kCount], Owner& owner, std::string_view name,
                const auto& take) {
  for (const NamedField<Owner, T>& field : fields) {
    if (field.name == name) {
      owner.*field.member = take();
      return true;
    }
  }
  return false;
}

}  // namespace understudy::et_schema
