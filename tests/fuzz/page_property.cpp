#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/pages/report/report_page.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/report/report_json.h"
#include "page_samples.h"
#include "properties.h"
#include "tags.h"

namespace understudy::pages {
namespace {

/// All tags that a report's page has.
bool is_ours(const std::string& tag) {
  constexpr std::array<std::string_view, 47> kTags = {
      "html",       "head",   "meta",    "link",  "title",  "style",  "body",   "a",
      "header",     "h1",     "h2",      "p",     "nav",    "ol",     "ul",     "li",
      "main",       "div",    "section", "span",  "strong", "dl",     "dt",     "dd",
      "figure",     "svg",    "g",       "rect",  "line",   "path",   "circle", "text",
      "figcaption", "table",  "caption", "thead", "tbody",  "tr",     "th",     "td",
      "data",       "footer", "script",  "br",    "canvas", "output", "input"};
  std::string_view name = std::string_view(tag).substr(0, tag.find(' '));
  name.remove_prefix(name.starts_with('/') ? 1 : 0);
  return std::ranges::find(kTags, name) != kTags.end();
}

}  // namespace

bool check_page_property(std::string_view input) {
  et_schema::Report report;
  try {
    report = et_schema::parse_report(std::string(input), "report.json");
  } catch (const et_schema::Error&) {
    return false;
  }
  const std::string html = to_html(report_page(report), short_assets());
  std::size_t scripts = 0;
  for (const std::string& tag : tags_of(html)) {
    UNDERSTUDY_ASSERT(is_ours(tag));
    UNDERSTUDY_ASSERT(tag.find(" on") == std::string::npos);
    scripts += tag == "script" ? 1U : 0U;
  }
  UNDERSTUDY_ASSERT(scripts == short_assets().scripts.size());
  UNDERSTUDY_ASSERT(nlohmann::json::accept(block_of(html, "data")));
  return true;
}

}  // namespace understudy::pages
