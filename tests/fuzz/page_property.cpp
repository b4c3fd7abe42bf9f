#include <nlohmann/json.hpp>
#include <string>

#include "cli/pages/report/report_page.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/report/report_json.h"
#include "page_samples.h"
#include "properties.h"

namespace understudy::pages {

void check_html(const std::string& html) {
  static const std::string kAround = parts_of(to_html(Page())).around;
  const HtmlParts parts = parts_of(html);
  UNDERSTUDY_ASSERT(parts.around == kAround);
  for (const std::string& block : {parts.page, parts.data}) {
    UNDERSTUDY_ASSERT(block.find('<') == std::string::npos);
    UNDERSTUDY_ASSERT(nlohmann::json::accept(block));
  }
}

bool check_page_property(std::string_view input) {
  et_schema::Report report;
  try {
    report = et_schema::parse_report(std::string(input), "report.json");
  } catch (const et_schema::Error&) {
    return false;
  }
  check_html(to_html(report_page(report)));
  return true;
}

}  // namespace understudy::pages
