#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace understudy::et_schema {

/// The parts of an error about a JSON document that are the same for all its fields.
struct JsonSource {
  std::string file;
  std::string summary;  ///< "the report cannot be read"
  std::string hint;
};

/// Parses a small document (manifest, report). Throws Error (bad input) if the text is not JSON, or
/// is nested deeper than any of the project's formats.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const JsonSource& source);

/// A value inside a document, and its path, which every error names. Each accessor throws Error
/// (bad input) if the value has another type or is out of range. Does not own the value.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, const JsonSource& source)
      : value_(&value), source_(&source) {}

  /// Returns a required member.
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
  /// Returns a name, or another text without control characters (control_characters.h).
  [[nodiscard]] const std::string& as_text() const;
  /// Returns a text that may have control characters: the user's, or a library's message.
  [[nodiscard]] const std::string& as_free_text() const;
  /// Parses 16 hexadecimal digits.
  [[nodiscard]] std::uint64_t as_hash() const;
  [[nodiscard]] std::vector<std::int64_t> as_ints() const;
  [[nodiscard]] std::vector<std::string> as_texts() const;

  /// Throws Error (bad input): this field differs from `expected`.
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
  int version;       ///< the supported version
};

/// Throws Error (bad input) if `format` or `version` differ. `writer` is the version of the tool
/// that wrote the document, if `tool_version` is missing.
void check_format(const JsonField& root, const DocumentFormat& format, std::string writer = {});

}  // namespace understudy::et_schema
