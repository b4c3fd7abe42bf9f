#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Reads the lines of a program's text, one JSON object each, and their typed values. Throws Error
/// (bad input) with the line and the field if the text differs from the expectation.
class ProgramLines {
 public:
  /// Both must outlive this object.
  ProgramLines(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// Returns the next line, valid until the next call. `expected` describes the line in errors.
  [[nodiscard]] simdjson::dom::object next(const std::string& expected);
  /// Throws Error (bad input) unless all lines were read.
  void expect_end(const std::string& expected);
  [[nodiscard]] std::size_t size_bytes() const { return text_.size(); }

  [[nodiscard]] simdjson::dom::element required(simdjson::dom::object line,
                                                std::string_view key) const;
  [[nodiscard]] std::uint64_t count(simdjson::dom::object header, std::string_view key) const;

  /// Returns an element of one of simdjson's types.
  template <typename Value>
  [[nodiscard]] Value as(std::string_view field, simdjson::dom::element value) const {
    Value result{};
    if (value.get(result) != simdjson::SUCCESS) {
      fail(field, expected_of(result), value);
    }
    return result;
  }
  /// Returns a number below 2^32.
  [[nodiscard]] std::uint32_t to_index(std::string_view field, simdjson::dom::element value) const;
  /// Returns a text without control characters.
  [[nodiscard]] std::string_view to_name(std::string_view field,
                                         simdjson::dom::element value) const;
  /// Reads a number, or one of the texts of special_double().
  [[nodiscard]] double to_double(std::string_view field, simdjson::dom::element value) const;

  [[noreturn]] void fail(std::string_view field, std::string expected, std::string got) const;
  [[noreturn]] void fail(std::string_view field, std::string expected,
                         simdjson::dom::element got) const;

 private:
  static const char* expected_of(std::int64_t) { return "an integer of 64 bits"; }
  static const char* expected_of(std::uint64_t) { return "a non-negative integer of 64 bits"; }
  static const char* expected_of(double) { return R"(a number, "inf", "-inf" or "nan")"; }
  static const char* expected_of(bool) { return "true or false"; }
  static const char* expected_of(std::string_view) { return "a text"; }
  static const char* expected_of(simdjson::dom::array) { return "a list"; }
  static const char* expected_of(simdjson::dom::object) { return "an object"; }

  std::string_view text_;
  const std::string& file_;
  std::size_t position_ = 0;
  std::uint64_t line_ = 0;
  simdjson::dom::parser parser_;
};

/// Parses the doubles that JSON cannot represent: "inf", "-inf", "nan".
[[nodiscard]] std::optional<double> special_double(std::string_view text);

}  // namespace understudy::et_schema
