#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace understudy::et_schema {

/// What an error about a JSON document says besides the field.
struct JsonSource {
  std::string file;
  std::string summary;  ///< "the report cannot be read"
  std::string hint;
};

/// Parses a small document (manifest, report). Throws Error (bad input): no JSON, or nested deeper
/// than any of the project's formats.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const JsonSource& source);

/// A value inside a document with its path, which every error names. Each accessor throws Error
/// (bad input) if the value is of another type or range. Does not own what it shows.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, const JsonSource& source)
      : value_(&value), source_(&source) {}

  /// A member that must be there.
  [[nodiscard]] JsonField at(const char* key) const;
  [[nodiscard]] std::optional<JsonField> find(const char* key) const;
  [[nodiscard]] std::vector<JsonField> items() const;
  [[nodiscard]] std::vector<std::pair<std::string, JsonField>> members() const;

  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_int() const;
  [[nodiscard]] std::uint64_t as_uint() const;
  [[nodiscard]] int as_int32() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] std::optional<double> as_double_or_null() const;
  /// A name, or another text without characters that steer a terminal (control_characters.h).
  [[nodiscard]] const std::string& as_text() const;
  /// A text that may come from the user or from a library's message.
  [[nodiscard]] const std::string& as_free_text() const;
  /// 16 hexadecimal digits.
  [[nodiscard]] std::uint64_t as_hash() const;
  [[nodiscard]] std::vector<std::int64_t> as_ints() const;
  [[nodiscard]] std::vector<std::string> as_texts() const;

  /// Throws the error that this field is not what was expected.
  [[noreturn]] void fail(std::string expected) const;
  [[noreturn]] void fail(std::string expected, std::string got) const;
  [[nodiscard]] const JsonSource& source() const { return *source_; }

 private:
  JsonField(const nlohmann::json& value, const JsonSource& source, std::string path)
      : value_(&value), source_(&source), path_(std::move(path)) {}
  void expect_object() const;

  const nlohmann::json* value_;
  const JsonSource* source_;
  std::string path_;
};

/// The format that a document must have, for check_format.
struct DocumentFormat {
  const char* noun;  ///< "report"
  const char* name;  ///< the document's "format"
  int version;       ///< the one that is read
};

/// Checks `format` and `version`. `writer` is the version of the tool that wrote the document,
/// where its `tool_version` does not say. Throws Error (bad input): another format or version.
void check_format(const JsonField& root, const DocumentFormat& format, std::string writer = {});

}  // namespace understudy::et_schema
