#include "et_schema/formats/json_trace/json_pull.h"

#include <simdjson.h>

#include <charconv>

#include "et_schema/base/quote.h"

namespace understudy::et_schema {

/// Slow, since it calls a parser that knows all escapes; escapes are rare.
std::string_view JsonPull::unescape(std::string_view raw, std::string& unescaped) {
  simdjson::dom::parser parser;
  std::string_view text;
  unescaped.assign(1, '"').append(raw).push_back('"');
  if (parser.parse(unescaped).get_string().get(text) != simdjson::SUCCESS) {
    throw JsonDamage();
  }
  unescaped.assign(text);
  return unescaped;
}

std::string_view JsonPull::number_text() const {
  const char* end = at_;
  if (at_ == end_ || (!is_digit(*at_) && *at_ != '-')) {
    return {};
  }
  while (end != end_ && !ends_scalar(*end)) {
    ++end;
  }
  return {at_, static_cast<std::size_t>(end - at_)};
}

bool JsonPull::take(double& value) {
  const std::string_view text = number_text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return false;
  }
  at_ = end;
  return true;
}

bool JsonPull::take(bool& value) {
  const std::string_view text = rest();
  for (const bool candidate : {true, false}) {
    const std::string_view word = candidate ? "true" : "false";
    if (text.starts_with(word) && (text.size() == word.size() || ends_scalar(text[word.size()]))) {
      value = candidate;
      at_ += word.size();
      return true;
    }
  }
  return false;
}

std::string_view JsonPull::skip() {
  const char* begin = at_;
  if (stands_on('{') || stands_on('[')) {
    const ScanResult scan = scan_brackets(rest(), 0);
    if (scan.status == ScanStatus::kTooDeep) {
      throw too_deep();
    }
    at_ += scan.end;
    if (scan.status == ScanStatus::kCutOff) {
      throw JsonDamage();
    }
  } else if (stands_on('"')) {
    bool has_escapes = false;
    static_cast<void>(raw_text(has_escapes));
  } else {
    bool flag = false;
    if (const std::string_view text = number_text(); !text.empty()) {
      at_ += text.size();
    } else if (!pass("null") && !take(flag)) {
      throw JsonDamage();
    }
  }
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

std::string minified(JsonPull value) {
  const std::string_view text = value.skip();
  std::string result(text.size() + simdjson::SIMDJSON_PADDING, '\0');
  std::size_t size = 0;
  if (simdjson::minify(text.data(), text.size(), result.data(), size) != simdjson::SUCCESS) {
    return std::string(text);
  }
  result.resize(size);
  return result;
}

// For messages, which show only the start of the text.
std::string describe(JsonPull value) {
  return quote(minified(value));
}

}  // namespace understudy::et_schema
