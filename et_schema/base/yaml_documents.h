#pragma once

#include <string_view>

namespace understudy::et_schema {

/// Returns the line, from 1, on which a second document of a YAML text begins with `---`; 0 if none
/// exists. Must be called after yaml-cpp has read the first document. yaml-cpp's LoadAll() is not
/// used because it never ends on some invalid texts.
[[nodiscard]] inline int second_document_line(std::string_view text) {
  bool has_content = false;
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(one.size() == text.size() ? one.size() : one.size() + 1);
    // A marker at the start of a line counts even inside a quoted or block text.
    const bool is_marker = one.starts_with("---") &&
                           (one.size() == 3 || one[3] == ' ' || one[3] == '\t' || one[3] == '\r');
    if (is_marker && has_content) {
      return line;
    }
    const auto first = one.find_first_not_of(" \t\r");
    has_content = has_content || is_marker ||
                  (first != std::string_view::npos && one[first] != '#' && one[0] != '%');
  }
  return 0;
}

}  // namespace understudy::et_schema
