#include "json_repair.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

#include "et_schema/base/json_text.h"
#include "et_schema/formats/json_trace/json_objects.h"

namespace understudy::et_schema {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
/// Maximum length of a name. Longer names are treated as damage that cannot be repaired.
constexpr std::size_t kLongestName = std::size_t{1} << 20U;

/// Returns true if the text, with its quotes, is a valid JSON string.
bool is_escaped(std::string_view quoted) {
  JsonPull value(quoted);
  std::string unescaped;
  std::string_view text;
  try {
    return value.take(text, unescaped) && simdjson::validate_utf8(quoted);
  } catch (const JsonDamage&) {
    return false;
  }
}

/// Returns a name as a JSON string. Escapes backslashes too: a writer that leaves one character
/// unescaped escapes none.
std::string escape(std::string_view raw) {
  const bool is_utf8 = simdjson::validate_utf8(raw);
  constexpr unsigned char kFirstBeyondAscii = 0x80;
  std::string text;
  for (const char c : raw) {
    const bool is_kept = is_utf8 || static_cast<unsigned char>(c) < kFirstBeyondAscii;
    text.append(is_kept ? std::string_view(&c, 1) : "\ufffd");
  }
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

/// Returns the position after the opening quote of the object's name, or kNone.
std::size_t find_name(std::string_view json) {
  constexpr int kMostKeysBefore = 16;
  Losses passed;
  OuterPull object(json, 0, passed);
  std::string_view key;
  bool first = true;
  try {
    for (int i = 0; i < kMostKeysBefore && object.next_member(first, key); ++i) {
      if (key == "name") {
        return object.stands_on('"') ? object.position() + 1 : kNone;
      }
      object.skip();
    }
  } catch (const std::exception&) {
    // Damage before the name, which is left as it is.
  }
  return kNone;
}

/// Returns true if `"key":` with one of the keys is at `position`.
bool is_key(std::string_view json, std::size_t position, std::span<const std::string_view> keys) {
  if (position >= json.size() || json[position] != '"') {
    return false;
  }
  const std::string_view rest = json.substr(position + 1);
  return std::any_of(keys.begin(), keys.end(), [rest](std::string_view key) {
    if (!rest.starts_with(key) || rest.size() <= key.size() || rest[key.size()] != '"') {
      return false;
    }
    const std::size_t colon = skip_space(rest, key.size() + 1);
    return colon < rest.size() && rest[colon] == ':';
  });
}

bool is_followed_by_comma_and_key(std::string_view json, std::size_t position,
                                  std::span<const std::string_view> keys) {
  position = skip_space(json, position);
  return position < json.size() && json[position] == ',' &&
         is_key(json, skip_space(json, position + 1), keys);
}

/// Returns true if the string is valid JSON and is followed by a key (possibly without the comma
/// before it) or the end of the object.
bool is_sound_string(std::string_view json, std::size_t begin, std::size_t end,
                     std::span<const std::string_view> keys) {
  if (end == kNone || !is_escaped(json.substr(begin - 1, end - begin + 2))) {
    return false;
  }
  const std::size_t next = skip_space(json, end + 1);
  return is_followed_by_comma_and_key(json, next, keys) || is_key(json, next, keys) ||
         (next < json.size() && json[next] == '}');
}

/// Returns the quote that ends a name whose quotes are not escaped: the first one before a key.
std::size_t find_raw_name_end(std::string_view json, std::size_t begin,
                              std::span<const std::string_view> keys) {
  const std::string_view window = json.substr(0, std::min(json.size(), begin + kLongestName));
  for (std::size_t quote = window.find('"', begin); quote != kNone;
       quote = window.find('"', quote + 1)) {
    if (is_followed_by_comma_and_key(json, quote + 1, keys)) {
      return quote;
    }
  }
  return kNone;
}

/// Returns true for printf's text of a double that JSON cannot represent.
bool is_bare_nonfinite(std::string_view token) {
  constexpr std::array<std::string_view, 8> kTokens = {"nan", "-nan", "inf",      "-inf",
                                                       "NaN", "-NaN", "Infinity", "-Infinity"};
  return std::find(kTokens.begin(), kTokens.end(), token) != kTokens.end();
}

/// Copies JSON text and corrects its commas.
class CommaRepair {
 public:
  explicit CommaRepair(std::string_view text) : text_(text) { fixed_.reserve(text.size()); }

  [[nodiscard]] std::string run() {
    std::size_t position = 0;
    while (position < text_.size()) {
      position = step(position);
    }
    return std::move(fixed_);
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  enum class Last : std::uint8_t { kOpen, kComma, kColon, kValue };

  /// Copies the token at `position`; returns the position of the next one.
  std::size_t step(std::size_t position) {
    const char c = text_[position];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      fixed_ += c;
      return position + 1;
    }
    if (c == ',') {
      if (last_ == Last::kValue) {
        comma_at_ = fixed_.size();
        fixed_ += c;
        last_ = Last::kComma;
      } else {
        ++count_;
      }
      return position + 1;
    }
    if (c == '}' || c == ']') {
      if (last_ == Last::kComma) {
        fixed_.erase(comma_at_, 1);
        ++count_;
      }
      fixed_ += c;
      last_ = Last::kValue;
      return position + 1;
    }
    if (c == ':') {
      fixed_ += c;
      last_ = Last::kColon;
      return position + 1;
    }
    if (last_ == Last::kValue) {
      fixed_ += ',';
      ++count_;
    }
    return copy_value(position);
  }

  std::size_t copy_value(std::size_t position) {
    if (text_[position] == '{' || text_[position] == '[') {
      fixed_ += text_[position];
      last_ = Last::kOpen;
      return position + 1;
    }
    std::size_t end = 0;
    if (text_[position] == '"') {
      end = find_string_end(text_, position + 1);
      end = end == kNone ? text_.size() : end + 1;
    } else {
      end = std::min(text_.find_first_of(" \t\r\n,:{}[]\"", position + 1), text_.size());
    }
    const std::string_view token = text_.substr(position, end - position);
    fixed_ += is_bare_nonfinite(token) ? "null" : token;
    last_ = Last::kValue;
    return end;
  }

  std::string_view text_;
  std::string fixed_;
  std::size_t comma_at_ = 0;
  std::uint64_t count_ = 0;
  Last last_ = Last::kOpen;
};

}  // namespace

RepairedObject repair_object(std::string_view json, std::span<const std::string_view> keys) {
  const std::size_t name_begin = find_name(json);
  std::size_t name_end = kNone;
  bool is_raw = false;
  if (name_begin != kNone) {
    name_end = find_string_end(json, name_begin);
    is_raw = !is_sound_string(json, name_begin, name_end, keys);
    name_end = is_raw ? find_raw_name_end(json, name_begin, keys) : name_end;
  }
  const ScanResult scan =
      name_end == kNone ? scan_brackets(json, 0) : scan_brackets(json, name_end + 1, 1);
  if (scan.status != ScanStatus::kComplete) {
    return {scan.status, scan.end, "", 0};
  }
  std::string text(json.substr(0, scan.end));
  is_raw = is_raw && name_end != kNone;
  if (is_raw) {
    text.replace(name_begin - 1, name_end - name_begin + 2,
                 escape(json.substr(name_begin, name_end - name_begin)));
  }
  CommaRepair commas(text);
  std::string repaired = commas.run();
  return {scan.status, scan.end, std::move(repaired), commas.count() + (is_raw ? 1U : 0U)};
}

}  // namespace understudy::et_schema
