#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "et_schema/base/json_record.h"
#include "et_schema/base/json_text.h"
#include "et_schema/formats/bench/program_text.h"
#include "et_schema/model/program.h"
#include "program_lines.h"
#include "program_names.h"

namespace understudy::et_schema {

// Writes and reads the lines of a benchmark by the descriptions of records (record.h), as
// json_record.h does, but without a JSON document, since files have millions of lines. A type that
// is not an object, list, number or text defines append_value(text, value) and read_value(lines,
// field, element, value).

/// The text written so far.
struct LineText {
  std::string out;
  TextDetail detail = TextDetail::kFull;
  std::vector<Device> devices = {};  ///< kBehaviour only: devices seen so far, in order
  std::vector<GroupId> groups = {};  ///< unless kFull: groups seen so far, in order
};

class LineWriter;
template <typename T>
concept LineRecord = requires(LineWriter& line, const T& value) {
  members(line, value);
};
template <typename How>
inline constexpr bool kIsNames = false;
template <typename FromString>
inline constexpr bool kIsNames<Names<FromString>> = true;

template <typename T>
void append_line_value(LineText& text, const T& value);

/// Writes an object's members without the braces.
class LineWriter {
 public:
  explicit LineWriter(LineText& text) : text_(text) {}

  template <typename T, typename... How>
  void operator()(std::string_view key, const T& value, const How&... /*how*/) {
    text_.out += is_first_ ? "\"" : ",\"";
    text_.out.append(key).append("\":");
    is_first_ = false;
    if constexpr ((kIsNames<How> || ...)) {
      append_json_string(text_.out, to_string(value));
    } else {
      append_line_value(text_, value);
    }
  }
  /// Writes a member unless it equals `standard`.
  template <typename T>
  void unless(const T& standard, std::string_view key, const T& value) {
    if (value != standard) {
      (*this)(key, value);
    }
  }
  /// Writes a member unless it is zero, false, unset or empty.
  template <typename T>
  void if_any(std::string_view key, const T& value) {
    bool is_any = false;
    if constexpr (std::same_as<T, double>) {
      is_any = value != 0 || std::signbit(value);
    } else if constexpr (requires { value.empty(); }) {
      is_any = !value.empty();
    } else {
      is_any = value != T{};
    }
    if (is_any) {
      (*this)(key, value);
    }
  }
  /// Writes an integer as a floating-point number, unless it is zero.
  void as_real(std::string_view key, std::int64_t value) {
    if_any(key, static_cast<double>(value));
  }
  /// Returns true if details are written that may differ between ranks of the same behaviour.
  [[nodiscard]] bool is_full() const { return text_.detail != TextDetail::kBehaviour; }
  /// Returns a group's number in the text.
  [[nodiscard]] std::size_t number_of(GroupId group) const {
    if (text_.detail == TextDetail::kFull) {
      return group;
    }
    const auto found = std::ranges::find(text_.groups, group);
    const auto number = static_cast<std::size_t>(found - text_.groups.begin());
    if (found == text_.groups.end()) {
      text_.groups.push_back(group);
    }
    return number;
  }

  /// Writes strides unless they are those of a dense tensor.
  void strides(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
    std::vector<std::int64_t> dense;
    if (!contiguous_strides(sizes, dense) || dense != strides) {
      (*this)("strides", strides);
    }
  }
  /// Writes {"op":"aten::mm"}: the kind is the key.
  void kind_and_name(InstructionKind kind, const std::string& name) {
    (*this)(to_string(kind), name);
  }

 private:
  LineText& text_;
  bool is_first_ = true;
};

template <typename T>
void append_line_value(LineText& text, const T& value) {
  if constexpr (requires { append_value(text, value); }) {
    append_value(text, value);
  } else if constexpr (LineRecord<T>) {
    text.out += '{';
    LineWriter line(text);
    members(line, value);
    text.out += '}';
  } else if constexpr (std::same_as<T, bool>) {
    text.out += value ? "true" : "false";
  } else if constexpr (std::unsigned_integral<T>) {
    append_json_uint(text.out, value);
  } else if constexpr (std::signed_integral<T>) {
    append_json_int(text.out, value);
  } else if constexpr (std::same_as<T, double>) {
    append_json_double(text.out, value);
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    append_json_string(text.out, value);
  } else if constexpr (requires { value.has_value(); }) {
    append_line_value(text, *value);
  } else {
    text.out += '[';
    for (const auto& item : value) {
      text.out += &item == value.data() ? "" : ",";
      append_line_value(text, item);
    }
    text.out += ']';
  }
}

/// Appends a line: calls `describe` with the writer of its object.
void append_line(LineText& text, const auto& describe) {
  text.out += '{';
  LineWriter line(text);
  describe(line);
  text.out += "}\n";
}

template <typename T>
void read_line_value(const ProgramLines& lines, const std::string& field,
                     simdjson::dom::element element, T& value);

/// Reads an object's members. An omitted member keeps its value.
class LineReader {
 public:
  /// `field`: the object's own name in errors; empty for a whole line.
  LineReader(const ProgramLines& lines, simdjson::dom::object object, const std::string& field)
      : lines_(lines), object_(object), prefix_(field.empty() ? "" : field + ".") {}

  template <typename T>
  void operator()(std::string_view key, T& value) {
    read_line_value(lines_, field_of(key), lines_.required(object_, key), value);
  }
  template <typename T, typename FromString>
  void operator()(std::string_view key, T& value, const Names<FromString>& names) {
    const simdjson::dom::element element = lines_.required(object_, key);
    auto known = names.from_string(lines_.as<std::string_view>(field_of(key), element));
    if (!known) {
      lines_.fail(field_of(key), names.expected, element);
    }
    value = std::move(*known);
  }
  template <typename T>
  void if_any(std::string_view key, T& value) {
    simdjson::dom::element element;
    if (object_[key].get(element) == simdjson::SUCCESS) {
      read_line_value(lines_, field_of(key), element, value);
    }
  }
  template <typename T>
  void unless(const T& /*standard*/, std::string_view key, T& value) {
    if_any(key, value);
  }
  void as_real(std::string_view key, std::int64_t& value) {
    constexpr double kMost = 0x1p53;
    double number = 0;
    if_any(key, number);
    if (!(number >= 0 && number <= kMost && number == std::trunc(number))) {
      lines_.fail(field_of(key), "a whole number from 0 to 2^53", lines_.required(object_, key));
    }
    value = static_cast<std::int64_t>(number);
  }
  [[nodiscard]] static bool is_full() { return true; }
  [[nodiscard]] static GroupId& number_of(GroupId& group) { return group; }

  void strides(const std::vector<std::int64_t>& sizes, std::vector<std::int64_t>& strides);
  void kind_and_name(InstructionKind& kind, std::string& name);

 private:
  [[nodiscard]] std::string field_of(std::string_view key) const {
    return std::string(prefix_).append(key);
  }

  const ProgramLines& lines_;
  simdjson::dom::object object_;
  std::string prefix_;
};

template <typename T>
void read_line_value(const ProgramLines& lines, const std::string& field,
                     simdjson::dom::element element, T& value) {
  if constexpr (requires { read_value(lines, field, element, value); }) {
    read_value(lines, field, element, value);
  } else if constexpr (LineRecord<T>) {
    LineReader line(lines, lines.as<simdjson::dom::object>(field, element), field);
    members(line, value);
  } else if constexpr (std::same_as<T, std::uint32_t>) {
    value = lines.to_index(field, element);
  } else if constexpr (std::same_as<T, double>) {
    value = lines.to_double(field, element);
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = lines.as<T>(field, element);
  } else if constexpr (std::same_as<T, std::string>) {
    value = lines.to_name(field, element);
  } else if constexpr (requires { value.has_value(); }) {
    read_line_value(lines, field, element, value.emplace());
  } else {
    const auto items = lines.as<simdjson::dom::array>(field, element);
    value.reserve(items.size());
    for (const simdjson::dom::element item : items) {
      read_line_value(lines, field, item, value.emplace_back());
    }
  }
}

}  // namespace understudy::et_schema
