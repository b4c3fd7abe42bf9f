#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace understudy::pages {

/// A piece of HTML or SVG. Text gets into it by escaping alone: no name of an operator, a file or a
/// host can end an element or an attribute.
///
///     element("td", {{"class", "number"}}, text(name))
class Markup {
 public:
  Markup() = default;

  Markup& operator+=(const Markup& other);
  [[nodiscard]] friend Markup operator+(Markup a, const Markup& b) { return std::move(a += b); }

  [[nodiscard]] bool empty() const { return html_.empty(); }
  [[nodiscard]] const std::string& html() const { return html_; }

 private:
  friend struct Unescaped;
  explicit Markup(std::string html) : html_(std::move(html)) {}
  std::string html_;
};

/// Name and value; the value may be any text. Without one the attribute is left out.
struct Attribute {
  std::string_view name;
  std::string value;
};
using Attributes = std::initializer_list<Attribute>;

/// Text as it is to be read. What is no UTF-8, and control characters, become U+FFFD.
[[nodiscard]] Markup text(std::string_view text);

/// <tag name="value">content</tag>; a tag that HTML gives no content (`br`, `input`, `meta`) is not
/// closed. `tag` and the attributes' names are of our own choosing, never from an input.
[[nodiscard]] Markup element(std::string_view tag, Attributes attributes = {},
                             const Markup& content = {});
/// With text alone in it.
[[nodiscard]] Markup element(std::string_view tag, Attributes attributes, std::string_view content);

/// <script type="application/json" id="…">: data for the page's scripts. `json` is a whole JSON
/// document; `<`, `>`, `&` in its texts are written as escapes of JSON.
[[nodiscard]] Markup json_block(std::string_view id, std::string_view json);

/// A figure and where in the page's data it stands: a JSON pointer (RFC 6901). `value` is the exact
/// number as JSON has it, `shown` what a person reads.
[[nodiscard]] Markup figure_at(std::string_view pointer, std::string value, std::string_view shown);

}  // namespace understudy::pages
