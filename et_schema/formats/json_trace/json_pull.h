#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "et_schema/base/json_scan.h"

namespace understudy::et_schema {

/// Thrown if the text is not JSON. The reader of the file repairs the text or reports its position.
class JsonDamage : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "text that is no JSON"; }
};

/// A pull parser: a position in JSON text from which values are read in order, without a tree. A
/// copy is a second position in the same text, so parallel lists can be walked together. Skipped
/// text is checked only for brackets and quotes. All members throw JsonDamage if the text does not
/// continue as JSON, at the end of the text if that is cut off.
class JsonPull {
 public:
  /// Starts at `json[position]`, after white space.
  explicit JsonPull(std::string_view json, std::size_t position = 0)
      : at_(json.data() + position), end_(json.data() + json.size()) {
    skip_space();
  }

  [[nodiscard]] bool stands_on(char c) const { return at_ != end_ && *at_ == c; }
  /// Returns the position in `json`, for JsonPull(json, position).
  [[nodiscard]] std::size_t position_in(std::string_view json) const {
    return static_cast<std::size_t>(at_ - json.data());
  }
  [[nodiscard]] bool is_at_end() const { return at_ == end_; }
  [[nodiscard]] std::string_view rest() const {
    return {at_, static_cast<std::size_t>(end_ - at_)};
  }

  /// Moves to the next item of an array. If `first` is true, enters the array and sets `first` to
  /// false. Returns false after the end of the array. The last item must have been read.
  [[nodiscard]] bool next_item(bool& first) { return next(first, '[', ']'); }
  /// Like next_item(), for members of an object. Sets `key` as it stands in the file, with its
  /// escapes, and moves to the member's value.
  [[nodiscard]] bool next_member(bool& first, std::string_view& key) {
    return next(first, '{', '}') && read_key(key);
  }

  // Reads a scalar if it has this type; otherwise keeps the position and returns false.
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
  /// Accepts integers too.
  [[nodiscard]] bool take(double& value);
  [[nodiscard]] bool take(bool& value);
  /// Reads a text and removes its escapes. `text` refers to the JSON itself, or to `unescaped` if
  /// the text had escapes.
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

  /// Skips `text` if exactly this text follows. Fast, for text that writers never vary.
  [[nodiscard]] bool pass(std::string_view text) {
    const bool is_next = rest().starts_with(text);
    at_ += is_next ? text.size() : 0;
    return is_next;
  }
  /// Skips a value and returns its text. Throws Error (bad input) if brackets are nested too deep.
  std::string_view skip();

 protected:
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
  [[nodiscard]] bool read_key(std::string_view& key) {
    bool has_escapes = false;
    key = raw_text(has_escapes);
    skip_space();
    expect(':');
    skip_space();
    return true;
  }
  void move_by(std::size_t bytes) { at_ += bytes; }

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
  /// Skips the text at this position and returns the part between the quotes.
  std::string_view raw_text(bool& has_escapes) {
    expect('"');
    const std::string_view text = rest();
    for (std::size_t position = 0;;) {
      position = find_mark<true>(text, position);
      if (position >= text.size()) {
        at_ = end_;
        throw JsonDamage();
      }
      if (text[position] == '"') {
        at_ += position + 1;
        return text.substr(0, position);
      }
      if (text[position] != '\\') {
        throw JsonDamage();
      }
      has_escapes = true;
      position += 2;  // the backslash and the escaped character
    }
  }
  [[nodiscard]] static std::string_view unescape(std::string_view raw, std::string& unescaped);
  [[nodiscard]] static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  [[nodiscard]] static bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }
  /// Returns the end of the digits from `begin` if they are a scalar below 2^64; otherwise null.
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
  /// Returns the text of the number at this position without skipping it; empty if none is there.
  [[nodiscard]] std::string_view number_text() const;

  const char* at_;
  const char* end_;
};

/// Returns a value's text without white space.
[[nodiscard]] std::string minified(JsonPull value);
/// Returns the start of a value as JSON, at most 60 bytes, for an error message.
[[nodiscard]] std::string describe(JsonPull value);

/// A field and its name in files.
template <typename Owner, typename T>
struct NamedField {
  std::string_view name;
  T Owner::*member;
};

/// Sets the field of this name to the result of take(). Returns false if no field has the name.
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
