#include <fmt/format.h>

#include "report_parts.h"

namespace understudy::pages {

Section coverage_section(const ReportData& data) {
  Section section{"coverage", "Coverage", blocks_at<et_schema::Coverage>(data.json, "/coverage")};
  Facts& facts = std::get<Facts>(section.blocks.front());
  const auto& others = data.report.total.coverage.other_time;
  for (std::size_t i = 0; i < others.size(); ++i) {
    facts.push_back(fact_at(data.json, fmt::format("/coverage/other_time/{}/share", i),
                            others[i].name + ", by recorded time", CellKind::kPercent));
  }
  for (const std::string& filter : data.report.filters) {
    facts.push_back({"filter", filter});
  }
  section.blocks.emplace_back(
      device_time_table(data.json, "/coverage/device_time", "what became of it"));
  return section;
}

Section values_section(const ReportData& data) {
  const et_schema::RunFigures& total = data.report.total;
  Section section{"values", "Outputs and values",
                  blocks_at<et_schema::ValueHealth>(data.json, "/values")};
  section.blocks.emplace_back(
      table_at(data.json, "/mismatches",
               fmt::format("Outputs that differ: {} of {}", total.mismatches.size(),
                           total.output_mismatches),
               columns_of<et_schema::OutputMismatch>()));
  section.blocks.emplace_back(table_at(data.json, "/value_findings",
                                       "Where such numbers were found first",
                                       columns_of<et_schema::ValueFinding>()));
  return section;
}

Section losses_section(const ReportData& data) {
  const Table table = losses_at(data.json, "/losses");
  return {"losses",
          "Losses",
          {table.rows.empty()
               ? Block(Notes{{"None: nothing of the trace was lost, assumed or repaired."}})
               : Block(table)}};
}

Section memory_section(const ReportData& data) {
  return {"memory", data.report.world_size > 1 ? "Memory (the largest rank)" : "Memory",
          blocks_at<et_schema::MemoryUse>(data.json, "/memory")};
}

}  // namespace understudy::pages
