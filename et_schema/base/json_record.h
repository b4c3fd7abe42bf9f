#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "et_schema/base/json_fields.h"
#include "et_schema/base/record.h"

namespace understudy::et_schema {

/// Writes and reads JSON objects by one description of their members (record.h): json_of(row)
/// returns the object, with members in the order of the description, and read_json(field, row)
/// reads it. A member is a number (null if not finite), a text, a bool, an enumeration, a record,
/// an optional of these (null if unset), or a list, an array or a map from text to them. Options
/// such as kNotNegative apply to the numbers and texts in the member. check_record(field, record),
/// defined beside members(), checks rules between members. A type that is not such an object
/// defines json_value(value), which returns its JSON, and read_value(field, value).

/// A condition that a number must fulfil when it is read.
struct NumberRange {
  const char* expected;
  bool (*holds)(double);
};
inline constexpr NumberRange kFinite = {"a finite number",
                                        [](double value) { return std::isfinite(value); }};
inline constexpr NumberRange kNotNegative = {
    "a number of 0 or more", [](double value) { return value >= 0 && std::isfinite(value); }};
inline constexpr NumberRange kPositive = {
    "a number above 0", [](double value) { return value > 0 && std::isfinite(value); }};

/// Minimum of an integer.
struct AtLeast {
  std::int64_t least;
};

/// How an enumeration is read: `from_string` returns the value of a name (null if unknown), and
/// `expected` lists the names.
template <typename FromString>
struct Names {
  FromString from_string;
  const char* expected;
};
template <typename FromString>
Names(FromString, const char*) -> Names<FromString>;

class JsonWriter;
template <typename T>
concept JsonRecord = requires(JsonWriter& json, const T& record) {
  members(json, record);
};

template <typename T>
[[nodiscard]] nlohmann::ordered_json json_of(const T& value);
template <typename T, typename... How>
void read_json(const JsonField& field, T& value, const How&... how);

/// Writes the members of a description.
class JsonWriter {
 public:
  template <typename T, typename... How>
  void operator()(const char* key, const T& value, const How&... /*how*/) {
    object_[key] = json_of(value);
  }
  /// Writes a member unless it equals `none`.
  template <typename None, typename T, typename... How>
  void unless(const None& none, const char* key, const T& value, const How&... /*how*/) {
    if (value != none) {
      object_[key] = json_of(value);
    }
  }
  /// Writes a member unless it is empty.
  template <typename T, typename... How>
  void if_any(const char* key, const T& value, const How&... /*how*/) {
    if (!value.empty()) {
      object_[key] = json_of(value);
    }
  }
  /// Writes 16 hexadecimal digits.
  void hash(const char* key, std::uint64_t value);
  /// Writes a bool as one of two names.
  void either(const char* key, bool value, const char* if_not, const char* if_so) {
    object_[key] = value ? if_so : if_not;
  }
  /// Writes an object that is not a record: calls `describe` with the object's writer (or reader).
  void object(const char* key, const auto& describe) {
    JsonWriter inner;
    describe(inner);
    object_[key] = inner.take();
  }
  /// Writes a list of such objects: calls `describe` with each item and its writer (or reader).
  void list(const char* key, const auto& items, const auto& describe) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& item : items) {
      JsonWriter inner;
      describe(inner, item);
      list.push_back(inner.take());
    }
    object_[key] = std::move(list);
  }
  [[nodiscard]] nlohmann::ordered_json take() { return std::move(object_); }

 private:
  nlohmann::ordered_json object_ = nlohmann::ordered_json::object();
};

/// Reads the members of a description. Throws Error (bad input) with the wrong field.
class JsonReader {
 public:
  explicit JsonReader(JsonField object) : object_(std::move(object)) {}
  template <typename T, typename... How>
  void operator()(const char* key, T& value, const How&... how) {
    read(object_.at(key), value, how...);
  }
  template <typename None, typename T, typename... How>
  void unless(const None& none, const char* key, T& value, const How&... how) {
    value = none;
    if (const auto field = object_.find(key)) {
      read(*field, value, how...);
    }
  }
  template <typename T, typename... How>
  void if_any(const char* key, T& value, const How&... how) {
    unless(T(), key, value, how...);
  }
  void hash(const char* key, std::uint64_t& value) { value = object_.at(key).as_hash(); }
  void either(const char* key, bool& value, const char* if_not, const char* if_so) {
    const JsonField field = object_.at(key);
    value = field.as_text() == if_so;
    if (!value && field.as_text() != if_not) {
      field.fail(std::string(if_not) + " or " + if_so);
    }
  }
  void object(const char* key, const auto& describe) {
    JsonReader inner(object_.at(key));
    describe(inner);
  }
  void list(const char* key, auto& items, const auto& describe) {
    items.clear();
    for (const JsonField& item : object_.at(key).items()) {
      JsonReader inner(item);
      describe(inner, items.emplace_back());
    }
  }

 private:
  template <typename How>
  static auto file_option(const How& how) {
    if constexpr (Shown<How>) {
      return std::tuple<>();
    } else {
      return std::tuple<const How&>(how);
    }
  }
  static void read(const JsonField& field, auto& value, const auto&... how) {
    std::apply([&](const auto&... options) { read_json(field, value, options...); },
               std::tuple_cat(file_option(how)...));
  }

  JsonField object_;
};

/// Returns the double with the same shortest decimal text as the float.
[[nodiscard]] double shortest(float value);

template <typename T>
nlohmann::ordered_json json_of(const T& value) {
  using Json = nlohmann::ordered_json;
  if constexpr (requires { json_value(value); }) {
    return json_value(value);
  } else if constexpr (JsonRecord<T>) {
    JsonWriter json;
    members(json, value);
    return json.take();
  } else if constexpr (std::is_enum_v<T>) {
    return Json(to_string(value));
  } else if constexpr (std::same_as<T, float>) {
    return Json(shortest(value));
  } else if constexpr (std::same_as<T, double>) {
    return std::isfinite(value) ? Json(value) : Json();
  } else if constexpr (std::is_arithmetic_v<T> || std::convertible_to<T, std::string_view>) {
    return Json(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? json_of(*value) : Json();
  } else if constexpr (requires { typename T::mapped_type; }) {
    Json json = Json::object();
    for (const auto& [key, item] : value) {
      json[key] = json_of(item);
    }
    return json;
  } else {
    Json json = Json::array();
    for (const auto& item : value) {
      json.push_back(json_of(item));
    }
    return json;
  }
}

inline void read_number(const JsonField& field, std::floating_point auto& value) {
  value = static_cast<std::remove_reference_t<decltype(value)>>(field.as_double());
}
inline void read_number(const JsonField& field, std::floating_point auto& value,
                        const NumberRange& range) {
  read_number(field, value);
  if (!range.holds(static_cast<double>(value))) {
    field.fail(range.expected);
  }
}
inline void read_number(const JsonField& field, double& value, const NullIsNan& /*how*/) {
  value = field.as_double_or_null().value_or(std::numeric_limits<double>::quiet_NaN());
}
inline void read_number(const JsonField& field, std::integral auto& value) {
  using Number = std::remove_reference_t<decltype(value)>;
  if constexpr (std::is_unsigned_v<Number>) {
    const std::uint64_t wide = field.as_uint();
    if (wide > std::numeric_limits<Number>::max()) {
      field.fail("a number of at most " + std::to_string(std::numeric_limits<Number>::max()));
    }
    value = static_cast<Number>(wide);
  } else if constexpr (sizeof(Number) == sizeof(std::int64_t)) {
    value = field.as_int();
  } else {
    value = field.as_int32();
  }
}
inline void read_number(const JsonField& field, std::integral auto& value, const AtLeast& range) {
  read_number(field, value);
  if (value < range.least) {
    field.fail(std::to_string(range.least) + " or more");
  }
}

template <typename T, typename... How>
void read_json(const JsonField& field, T& value, const How&... how) {
  if constexpr (requires { read_value(field, value); }) {
    read_value(field, value);
  } else if constexpr (JsonRecord<T>) {
    JsonReader json(field);
    members(json, value);
    if constexpr (requires { check_record(field, value); }) {
      check_record(field, value);
    }
  } else if constexpr (std::is_enum_v<T>) {
    const auto& names = std::get<0>(std::tie(how...));
    const std::optional<T> known = names.from_string(field.as_text());
    if (!known) {
      field.fail(names.expected, field.as_text());
    }
    value = *known;
  } else if constexpr (std::same_as<T, bool>) {
    value = field.as_bool();
  } else if constexpr (std::is_arithmetic_v<T>) {
    read_number(field, value, how...);
  } else if constexpr (std::same_as<T, std::string>) {
    value = sizeof...(how) == 0 ? field.as_text() : field.as_free_text();
  } else if constexpr (requires { value.has_value(); }) {
    value.reset();
    if (!field.is_null()) {
      // clang 14 does not find emplace() without arguments for a nested class.
      read_json(field, value.emplace(typename T::value_type()), how...);
    }
  } else if constexpr (requires { typename T::mapped_type; }) {
    value.clear();
    for (const auto& [key, item] : field.members()) {
      read_json(item, value[key], how...);
    }
  } else if constexpr (requires { value.emplace_back(); }) {
    value.clear();
    for (const JsonField& item : field.items()) {
      read_json(item, value.emplace_back(), how...);
    }
  } else {
    const std::vector<JsonField> items = field.items();
    if (items.size() != value.size()) {
      field.fail(std::to_string(value.size()) + " numbers");
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      read_json(items[i], value[i], how...);
    }
  }
}
template <typename T, typename... How>
[[nodiscard]] T read_json(const JsonField& field, const How&... how) {
  T value{};
  read_json(field, value, how...);
  return value;
}

/// Returns the text of a document. Each item of the lists and objects at the outermost `depth`
/// levels is on a line of its own, so that files can be compared. Bytes that are not UTF-8 become
/// replacement characters.
[[nodiscard]] std::string dump_lines(const nlohmann::ordered_json& json, int depth);

/// JSON lines: a header, then one line per row.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& json);
[[nodiscard]] std::string json_lines_header(const char* format, int version);
/// Calls `take` with each line and its number, from 1; errors name the line. Throws Error (bad
/// input) if the first line is not a header of the format.
void for_each_json_line(std::string_view text, const JsonSource& source,
                        const DocumentFormat& format,
                        const std::function<void(const JsonField& line, std::size_t number)>& take);
/// Reads the rows after the header.
template <typename Row>
[[nodiscard]] std::vector<Row> read_json_lines(std::string_view text, const JsonSource& source,
                                               const DocumentFormat& format) {
  std::vector<Row> rows;
  for_each_json_line(text, source, format, [&rows](const JsonField& line, std::size_t number) {
    if (number > 1) {
      read_json(line, rows.emplace_back());
    }
  });
  return rows;
}

}  // namespace understudy::et_schema
