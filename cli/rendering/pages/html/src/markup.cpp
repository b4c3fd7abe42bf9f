#include "pages/html/markup.h"

#include <algorithm>
#include <array>

#include "unescaped.h"

namespace understudy::pages {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the UTF-8 character at the start of `text`; 0 where there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) {
    return 0;
  }
  // The second byte's range keeps out overlong forms, surrogates and what lies beyond U+10FFFF.
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) {
      return 0;
    }
  }
  return length;
}

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

bool is_control(char character) {
  return (character >= 0 && character < ' ' && character != '\n' && character != '\t') ||
         character == '\x7F';
}

void append_escaped(std::string& html, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control(text[0])) {
      html += kReplacement;
      text.remove_prefix(1);
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
