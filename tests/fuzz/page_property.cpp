#include <nlohmann/json.hpp>
#include <string>

#include "cli/pages/report/report_page.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/report/report_json.h"
#include "page_samples.h"
#include "properties.h"

namespace understudy::pages {

bool check_page_property(std::string_view input) {
  et_schema::Report report;
  try {
    report = et_schema::parse_report(std::string(input), "report.json");
  } catch (const et_schema::Error&) {
    return false;
  }
  const HtmlParts parts = parts_of(to_html(report_page(report)));
  UNDERSTUDY_ASSERT(parts.around == parts_of(to_html(Page())).around);
  for (const std::string& block : {parts.page, parts.data}) {
    UNDERSTUDY_ASSERT(block.find('<') == std::string::npos);
    UNDERSTUDY_ASSERT(nlohmann::json::accept(block));
  }
  return true;
}

}  // namespace understudy::pages
