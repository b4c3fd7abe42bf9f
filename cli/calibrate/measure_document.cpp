#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"
#include "measure.h"

namespace understudy::cli {

pages::Page summary_page(const CalibrationSummary& summary, const std::string& rows) {
  using pages::counts, pages::facts_at, pages::figures, pages::table_at, pages::texts;
  constexpr std::size_t kShownInText = 10;
  const nlohmann::ordered_json document = {{"rows_file", rows},
                                           {"rows", summary.rows},
                                           {"found_rows", summary.found_rows},
                                           {"spent_s", summary.spent_s},
                                           {"complete", summary.signal == 0},
                                           {"host", {{"page_fault_ns", summary.page_fault_ns}}},
                                           {"ceilings", predictor::to_json(summary.ceilings)},
                                           {"refused", summary.refused}};
  pages::Page page;
  page.title = fmt::format("{}: {} rows in {:.0f} s", et_schema::file_name(rows),
                           et_schema::with_commas(summary.rows), summary.spent_s);
  if (summary.found_rows > 0) {
    page.verdict.findings.push_back(
        fmt::format("{} of them were there.", et_schema::with_commas(summary.found_rows)));
  }
  if (summary.signal != 0) {
    page.verdict.findings.emplace_back("Interrupted: the same command resumes it.");
  }
  page.sections = {
      {"host",
       "Host",
       {facts_at(document, "/host", {figures("a page fault", "page_fault_ns", 1, "ns")}),
        table_at(document, "/ceilings",
                 "Ceilings: bandwidth of memory in GB/s, products in GFLOP/s",
                 {texts("ceiling", "name"), texts("of", "kind"), counts("threads"),
                  figures("per second", "per_s", 1e-9)})}},
      {"reasons",
       "What was not timed",
       {table_at(document, "/refused", "Refused", {texts("why", "name"), counts("times", "value")},
                 kShownInText)}}};
  return made_by("calibrate", std::move(page), document, "calibration.json", 1);
}

}  // namespace understudy::cli
