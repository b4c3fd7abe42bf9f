#include "et_schema/base/json_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;

[[noreturn]] void fail_at(const JsonSource& source, std::string field, std::string expected,
                          std::string got) {
  throw bad_input(source.summary, {.file = source.file,
                                   .field = std::move(field),
                                   .expected = std::move(expected),
                                   .got = std::move(got),
                                   .hint = source.hint});
}

std::string shown(const json& value) {
  constexpr std::size_t kMostShownItems = 8;
  if (value.is_array() && value.size() > kMostShownItems) {
    return "a list";
  }
  if (value.is_object()) {
    return "an object";
  }
  return quote(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

json parse_json(std::string_view text, const JsonSource& source) {
  const auto check_depth = [&source](int depth, json::parse_event_t /*event*/, json& /*parsed*/) {
    if (depth > kMaxDepth) {
      fail_at(source, "", "values nested at most " + std::to_string(kMaxDepth) + " deep",
              "deeper ones");
    }
    return true;
  };
  try {
    return json::parse(text, check_depth);
  } catch (const json::parse_error& error) {
    fail_at(source, "", "JSON",
            text.empty() ? "an empty file" : "no JSON from byte " + std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    fail_at(source, "", "numbers that a double can hold", "a larger one");
  }
}

void JsonField::fail(std::string expected) const {
  fail(std::move(expected), shown(*value_));
}

void JsonField::fail(std::string expected, std::string got) const {
  fail_at(*source_, path_, std::move(expected), std::move(got));
}

void JsonField::expect_object() const {
  if (!value_->is_object()) {
    fail("an object");
  }
}

JsonField JsonField::at(const char* key) const {
  if (auto member = find(key)) {
    return std::move(*member);
  }
  fail_at(*source_, path_.empty() ? key : path_ + "." + key, "this key", "none");
}

std::optional<JsonField> JsonField::find(const char* key) const {
  expect_object();
  const auto found = value_->find(key);
  if (found == value_->end()) {
    return std::nullopt;
  }
  return JsonField(*found, *source_, path_.empty() ? key : path_ + "." + key);
}

std::vector<JsonField> JsonField::items() const {
  if (!value_->is_array()) {
    fail("a list");
  }
  std::vector<JsonField> items;
  items.reserve(value_->size());
  for (const json& item : *value_) {
    items.push_back(JsonField(item, *source_, path_ + "[" + std::to_string(items.size()) + "]"));
  }
  return items;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  expect_object();
  std::vector<std::pair<std::string, JsonField>> members;
  for (const auto& [key, value] : value_->items()) {
    if (has_control_characters(key)) {
      fail("keys without control characters", quote(escape_control_characters(key)));
    }
    members.emplace_back(key, JsonField(value, *source_, path_ + "." + quote(key)));
  }
  return members;
}

bool JsonField::as_bool() const {
  if (!value_->is_boolean()) {
    fail("true or false");
  }
  return value_->get<bool>();
}

std::int64_t JsonField::as_int() const {
  const bool too_large = value_->is_number_unsigned() &&
                         value_->get<std::uint64_t>() >
                             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value_->is_number_integer() || too_large) {
    fail("an integer of 64 bits");
  }
  return value_->get<std::int64_t>();
}

std::uint64_t JsonField::as_uint() const {
  if (!value_->is_number_unsigned()) {
    fail("a non-negative integer of 64 bits");
  }
  return value_->get<std::uint64_t>();
}

int JsonField::as_int32() const {
  const std::int64_t wide = as_int();
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    fail("an integer of 32 bits");
  }
  return static_cast<int>(wide);
}

double JsonField::as_double() const {
  if (!value_->is_number()) {
    fail("a number");
  }
  return value_->get<double>();
}

std::optional<double> JsonField::as_double_or_null() const {
  if (is_null()) {
    return std::nullopt;
  }
  if (!value_->is_number()) {
    fail("a number or null");
  }
  return value_->get<double>();
}

const std::string& JsonField::as_text() const {
  const std::string& text = as_free_text();
  if (has_control_characters(text)) {
    fail("a text without control characters", quote(escape_control_characters(text)));
  }
  return text;
}

const std::string& JsonField::as_free_text() const {
  if (!value_->is_string()) {
    fail("a text");
  }
  return value_->get_ref<const std::string&>();
}

std::uint64_t JsonField::as_hash() const {
  constexpr std::size_t kHashDigits = 16;
  const std::string& digits = as_text();
  const char* end = digits.data() + digits.size();
  std::uint64_t hash = 0;
  const auto [parsed, error] = std::from_chars(digits.data(), end, hash, 16);
  if (digits.size() != kHashDigits || error != std::errc() || parsed != end) {
    fail("16 hexadecimal digits");
  }
  return hash;
}

std::vector<std::int64_t> JsonField::as_ints() const {
  std::vector<std::int64_t> values;
  for (const JsonField& item : items()) {
    values.push_back(item.as_int());
  }
  return values;
}

std::vector<std::string> JsonField::as_texts() const {
  std::vector<std::string> texts;
  for (const JsonField& item : items()) {
    texts.push_back(item.as_text());
  }
  return texts;
}

void check_format(const JsonField& root, const DocumentFormat& format, std::string writer) {
  const JsonField name = root.at("format");
  if (name.as_text() != format.name) {
    name.fail(fmt::format("\"{}\"", format.name));
  }
  const JsonField version = root.at("version");
  const std::int64_t number = version.as_int();
  if (number == format.version) {
    return;
  }
  if (const auto tool_version = root.find("tool_version")) {
    writer = tool_version->as_text();
  }
  throw bad_input(
      fmt::format("the {} is of another version than this program reads", format.noun),
      {.file = root.source().file,
       .field = "version",
       .expected =
           fmt::format("version {}, which Understudy {} reads", format.version, UNDERSTUDY_VERSION),
       .got = fmt::format("version {}, written by Understudy {}", number,
                          writer.empty() ? "of an unknown version" : writer),
       .hint = fmt::format("use that version of Understudy, or make the {} again with this one",
                           format.noun)});
}

}  // namespace understudy::et_schema
