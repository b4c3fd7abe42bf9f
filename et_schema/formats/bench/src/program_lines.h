#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  [[nodiscard]] std::int64_t to_int(std::string_view field, simdjson::dom::element value) const;
  [[nodiscard]] std::uint64_t to_uint(std::string_view field, simdjson::dom::element value) const;
  /// Returns a number below 2^32.
  [[nodiscard]] std::uint32_t to_index(std::string_view field, simdjson::dom::element value) const;
  [[nodiscard]] bool to_bool(std::string_view field, simdjson::dom::element value) const;
  /// Like to_text(), but refuses control characters.
  [[nodiscard]] std::string_view to_name(std::string_view field,
                                         simdjson::dom::element value) const;
  [[nodiscard]] std::string_view to_text(std::string_view field,
                                         simdjson::dom::element value) const;
  [[nodiscard]] simdjson::dom::array to_array(std::string_view field,
                                              simdjson::dom::element value) const;
  [[nodiscard]] simdjson::dom::object to_object(std::string_view field,
                                                simdjson::dom::element value) const;
  /// Reads a number, or one of the texts of special_double().
  [[nodiscard]] double to_double(std::string_view field, simdjson::dom::element value) const;
  [[nodiscard]] std::vector<std::int64_t> to_ints(std::string_view field,
                                                  simdjson::dom::element value) const;

  [[noreturn]] void fail(std::string_view field, std::string expected, std::string got) const;
  [[noreturn]] void fail(std::string_view field, std::string expected,
                         simdjson::dom::element got) const;

 private:
  template <typename Value>
  [[nodiscard]] Value as(std::string_view field, simdjson::dom::element value,
                         const char* expected) const;

  std::string_view text_;
  const std::string& file_;
  std::size_t position_ = 0;
  std::uint64_t line_ = 0;
  simdjson::dom::parser parser_;
};

/// Parses the doubles that JSON cannot represent: "inf", "-inf", "nan".
[[nodiscard]] std::optional<double> special_double(std::string_view text);

}  // namespace understudy::et_schema
