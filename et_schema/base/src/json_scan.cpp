#include "et_schema/base/json_scan.h"

#include <fmt/format.h>

namespace understudy::et_schema {

ScanResult scan_brackets(std::string_view json, std::size_t begin, std::size_t depth) {
  for (std::size_t position = begin; position < json.size(); ++position) {
    switch (json[position]) {
      case '"':
        position = find_string_end(json, position + 1);
        if (position == std::string_view::npos) {
          return {ScanStatus::kCutOff, json.size()};
        }
        break;
      case '{':
      case '[':
        if (++depth > kMaxJsonDepth) {
          return {ScanStatus::kTooDeep, position};
        }
        break;
      case '}':
      case ']':
        if (--depth == 0) {
          return {ScanStatus::kComplete, position + 1};
        }
        break;
      default:
        break;
    }
  }
  return {ScanStatus::kCutOff, json.size()};
}

std::size_t find_string_end(std::string_view json, std::size_t begin) {
  for (std::size_t position = begin;;) {
    position = find_mark<false>(json, position);
    if (position >= json.size()) {
      return std::string_view::npos;
    }
    if (json[position] == '"') {
      return position;
    }
    position += 2;  // the backslash and what it escapes
  }
}

std::size_t skip_space(std::string_view json, std::size_t begin) {
  return std::min(json.find_first_not_of(" \t\r\n", begin), json.size());
}

std::size_t find_json_start(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  return skip_space(text, text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

Error too_deep() {
  return bad_input("brackets nested too deep",
                   {.field = "nodes",
                    .expected = fmt::format("at most {} brackets inside each other", kMaxJsonDepth),
                    .got = "more"});
}

}  // namespace understudy::et_schema
