#include "program_lines.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {

using simdjson::dom::element;
using simdjson::dom::object;

void ProgramLines::fail(std::string_view field, std::string expected, std::string got) const {
  ErrorContext context;
  context.file = file_;
  context.field = "line " + std::to_string(line_);
  if (!field.empty()) {
    context.field.append(", ").append(field);
  }
  context.expected = std::move(expected);
  context.got = std::move(got);
  context.hint = "make the benchmark again with `generate`";
  throw bad_input("the program in the benchmark is damaged", std::move(context));
}

void ProgramLines::fail(std::string_view field, std::string expected, element got) const {
  fail(field, std::move(expected), quote(simdjson::minify(got)));
}

object ProgramLines::next(const std::string& expected) {
  ++line_;
  if (position_ == text_.size()) {
    fail("", expected, "the end of the file");
  }
  const std::size_t end = std::min(text_.find('\n', position_), text_.size());
  const std::string_view line = text_.substr(position_, end - position_);
  position_ = std::min(end + 1, text_.size());
  element parsed;
  if (parser_.parse(line.data(), line.size()).get(parsed) != simdjson::SUCCESS) {
    fail("", expected, "no JSON: " + quote(line));
  }
  object fields;
  if (parsed.get(fields) != simdjson::SUCCESS) {
    fail("", expected, parsed);
  }
  return fields;
}

void ProgramLines::expect_end(const std::string& expected) {
  if (position_ != text_.size()) {
    ++line_;
    fail("", expected, "another line");
  }
}

element ProgramLines::required(object line, std::string_view key) const {
  element value;
  if (line[key].get(value) != simdjson::SUCCESS) {
    fail(key, "this key", "none");
  }
  return value;
}

std::uint64_t ProgramLines::count(object header, std::string_view key) const {
  return as<std::uint64_t>(key, required(header, key));
}

std::uint32_t ProgramLines::to_index(std::string_view field, element value) const {
  const auto index = as<std::uint64_t>(field, value);
  if (index > std::numeric_limits<std::uint32_t>::max()) {
    fail(field, "a number below 2^32", value);
  }
  return static_cast<std::uint32_t>(index);
}

std::string_view ProgramLines::to_name(std::string_view field, element value) const {
  const auto result = as<std::string_view>(field, value);
  if (has_control_characters(result)) {
    fail(field, "a name without control characters", quote(escape_control_characters(result)));
  }
  return result;
}

double ProgramLines::to_double(std::string_view field, element value) const {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (const std::optional<double> special = special_double(text)) {
      return *special;
    }
  }
  return as<double>(field, value);
}

std::optional<double> special_double(std::string_view text) {
  using Limits = std::numeric_limits<double>;
  if (text == "inf") {
    return Limits::infinity();
  }
  if (text == "-inf") {
    return -Limits::infinity();
  }
  if (text == "nan") {
    return Limits::quiet_NaN();
  }
  return std::nullopt;
}

}  // namespace understudy::et_schema
