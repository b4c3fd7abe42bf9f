#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"
#include "measure.h"

namespace understudy::cli {
namespace {

constexpr std::size_t kShownInText = 10;

using Json = nlohmann::ordered_json;
using pages::counts, pages::facts_at, pages::figures, pages::table_at, pages::texts;

Json summary_document(const CalibrationSummary& summary, const std::string& rows) {
  Json areas = Json::array();
  for (const OperatorCounts& area : summary.operators) {
    Json& row = areas.emplace_back();
    row["name"] = area.name;
    row["class"] = area.op_class;
    row["calls"] = area.timed;
    row["refused"] = area.refused;
  }
  Json tables;
  if (summary.tables) {
    tables = {{"rows_file", tables_file(rows)},
              {"calls", summary.tables->calls},
              {"found_calls", summary.tables->found},
              {"spent_s", summary.tables->spent_s}};
  }
  return {{"rows_file", rows},
          {"rows", summary.rows},
          {"found_rows", summary.found_rows},
          {"spent_s", summary.spent_s},
          {"complete", summary.signal == 0},
          {"host", {{"page_fault_ns", summary.page_fault_ns}}},
          {"ceilings", predictor::to_json(summary.ceilings)},
          {"embedding_tables", tables},
          {"operators", areas},
          {"refused", summary.refused}};
}

pages::Section tables_section(const Json& document, const TablesSummary& tables) {
  pages::Section section{
      "tables",
      "Embedding tables",
      {facts_at(document, "/embedding_tables",
                {counts("calls over one to eight tables", "calls"),
                 counts("of them were there", "found_calls"), figures("seconds", "spent_s"),
                 texts("rows in", "rows_file")})}};
  if (!tables.make_a_model()) {
    section.blocks.emplace_back(pages::Notes{
        {fmt::format("too few for a model: {} make one, a longer --budget measures them",
                     predictor::kLeastEmbeddingRows)}});
  }
  return section;
}

}  // namespace

pages::Page summary_page(const CalibrationSummary& summary, const std::string& rows) {
  const Json document = summary_document(summary, rows);
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
                  figures("per second", "per_s", 1e-9)})}}};
  if (summary.tables) {
    page.sections.push_back(tables_section(document, *summary.tables));
  }
  page.sections.push_back(
      {"operators",
       "Operators",
       {table_at(document, "/operators", "Operators",
                 {texts("operator", "name"), counts("calls"), counts("refused"), texts("class")},
                 kShownInText)}});
  page.sections.push_back(
      {"reasons",
       "What was not timed",
       {table_at(document, "/refused", "Refused", {texts("why", "name"), counts("times", "value")},
                 kShownInText)}});
  return made_by("calibrate", std::move(page), document, "calibration.json", 1);
}

}  // namespace understudy::cli
