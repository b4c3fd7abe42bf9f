#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report_parts.h"

namespace understudy::pages {
namespace {

/// Returns the caption of a coverage list by its key.
std::string caption_of(std::string_view key) {
  if (key == "substituted") {
    return "Substituted: others did the same work";
  }
  if (key == "stubbed") {
    return "Stubbed: the same bytes in the same time, not counted as replayed";
  }
  if (key == "dropped") {
    return "Dropped";
  }
  return key == "not_applicable"
             ? "Not applicable to this target (not among the selected)"
             : "Pinned outputs: what follows gets tensors of the recorded shape";
}

}  // namespace

Section coverage_section(const ReportData& data) {
  Facts facts;
  const auto add = [&](const char* key, const char* text, CellKind kind) {
    facts.push_back(fact_at(data.json, fmt::format("/coverage/{}", key), text, kind));
  };
  add("selected", "operators selected", CellKind::kCount);
  add("replayed", "replayed", CellKind::kCount);
  add("exact", "of these as recorded", CellKind::kCount);
  for (const et_schema::CoverageList& list : et_schema::kCoverageLists) {
    std::uint64_t count = 0;
    for (const et_schema::NamedCount& row : data.report.total.coverage.*list.rows) {
      count += row.count;
    }
    facts.push_back({caption_of(list.key), count, CellKind::kCount});
  }
  add("count", "replayed, by count", CellKind::kPercent);
  add("time", "replayed, by recorded time", CellKind::kPercent);
  add("substituted_time", "substituted, by recorded time", CellKind::kPercent);
  add("dropped_time", "dropped or stubbed, by recorded time", CellKind::kPercent);
  const auto& others = data.report.total.coverage.other_time;
  for (std::size_t i = 0; i < others.size(); ++i) {
    add(fmt::format("other_time/{}/share", i).c_str(),
        (others[i].name + ", by recorded time").c_str(), CellKind::kPercent);
  }
  for (const std::string& filter : data.report.filters) {
    facts.push_back({"filter", filter});
  }
  Section section{"coverage", "Coverage", {facts}};
  for (const et_schema::CoverageList& list : et_schema::kCoverageLists) {
    std::string id = fmt::format("coverage-{}", list.key);
    std::ranges::replace(id, '_', '-');
    section.blocks.emplace_back(
        table_at(data.json, fmt::format("/coverage/{}", list.key), caption_of(list.key),
                 {texts("operator", "name"), counts("count"), texts(list.note_key)}));
  }
  if (!data.report.total.coverage.device_time.empty()) {
    section.blocks.emplace_back(
        device_time_table(data.json, "/coverage/device_time", "what became of it"));
  }
  return section;
}

Section values_section(const ReportData& data) {
  Facts facts;
  add_rows(facts, data.json, "", et_schema::kOutputCounts, CellKind::kCount);
  add_rows(facts, data.json, "/values", et_schema::kValueCounts, CellKind::kCount);
  const et_schema::RunFigures& total = data.report.total;
  return {"values",
          "Outputs and values",
          {facts,
           table_at(data.json, "/mismatches",
                    fmt::format("Outputs that differ: {} of {}", total.mismatches.size(),
                                total.output_mismatches),
                    {texts("operator", "name"), counts("node"), texts("field"), texts("expected"),
                     texts("got")}),
           table_at(data.json, "/value_findings", "Where such numbers were found first",
                    {texts("operator", "name"), counts("node"), texts("kind"),
                     counts("after iterations", "iteration")})}};
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
  Facts facts;
  add_rows(facts, data.json, "/memory", et_schema::kMemoryCounts, CellKind::kBytes);
  return {"memory", data.report.world_size > 1 ? "Memory (the largest rank)" : "Memory", {facts}};
}

}  // namespace understudy::pages
