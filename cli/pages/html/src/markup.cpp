#include "cli/pages/html/markup.h"

#include <algorithm>
#include <array>

#include "et_schema/base/control_characters.h"
#include "raw_html.h"

namespace understudy::pages {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// What stands for a character of one byte.
std::string_view escaped(char character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

void append_escaped(std::string& html, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = et_schema::utf8_length(text);
    const bool is_kept = text[0] == '\n' || text[0] == '\t';
    if (length == 0 || (et_schema::is_control_character(text.substr(0, length)) && !is_kept)) {
      html += kReplacement;
      text.remove_prefix(length == 0 ? 1 : length);
      continue;
    }
    const std::string_view escape = escaped(text[0]);
    html += escape.empty() ? text.substr(0, length) : escape;
    text.remove_prefix(length);
  }
}

bool is_void(std::string_view tag) {
  constexpr std::array<std::string_view, 6> kVoid = {"br", "col", "hr", "input", "link", "meta"};
  return std::ranges::find(kVoid, tag) != kVoid.end();
}

}  // namespace

Markup& Markup::operator+=(const Markup& other) {
  html_ += other.html_;
  return *this;
}

Markup text(std::string_view text) {
  std::string html;
  append_escaped(html, text);
  return Unescaped::html(std::move(html));
}

Markup element(std::string_view tag, Attributes attributes, const Markup& content) {
  std::string html = "<";
  html += tag;
  for (const Attribute& attribute : attributes) {
    if (attribute.value.empty()) {
      continue;
    }
    html += ' ';
    html += attribute.name;
    html += "=\"";
    append_escaped(html, attribute.value);
    html += '"';
  }
  html += '>';
  if (!is_void(tag)) {
    html += content.html();
    html += "</";
    html += tag;
    html += '>';
  }
  return Unescaped::html(std::move(html));
}

Markup element(std::string_view tag, Attributes attributes, std::string_view content) {
  return element(tag, attributes, text(content));
}

Markup json_block(std::string_view id, std::string_view json) {
  std::string html = "<script type=\"application/json\" id=\"";
  append_escaped(html, id);
  html += "\">";
  // In JSON these stand in texts alone.
  for (const char character : json) {
    switch (character) {
      case '<':
        html += "\\u003c";
        break;
      case '>':
        html += "\\u003e";
        break;
      case '&':
        html += "\\u0026";
        break;
      default:
        html += character;
    }
  }
  return Unescaped::html(std::move(html) + "</script>\n");
}

Markup figure_at(std::string_view pointer, std::string value, std::string_view shown) {
  return element("data", {{"value", std::move(value)}, {"data-at", std::string(pointer)}}, shown);
}

}  // namespace understudy::pages
