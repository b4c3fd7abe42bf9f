#include <fmt/format.h>

#include "et_schema/model/losses.h"
#include "et_schema/model/report_fields.h"
#include "parts.h"

namespace understudy::pages {
namespace {

using et_schema::NamedCount;
using et_schema::Report;
using et_schema::RunFigures;

/// What the rows of a coverage list are, by its key.
std::string caption_of(const std::string& key) {
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

Markup lists_of(const et_schema::Coverage& coverage) {
  Markup lists;
  for (const et_schema::CoverageList& list : et_schema::kCoverageLists) {
    Table table{.id = fmt::format("coverage-{}", list.key),
                .caption = caption_of(list.key),
                .columns = {{"operator", CellKind::kText, "name"},
                            {"count", CellKind::kCount, "count"},
                            {list.note_key, CellKind::kText, list.note_key}},
                .at = fmt::format("/coverage/{}", list.key)};
    for (char& character : table.id) {
      character = character == '_' ? '-' : character;
    }
    for (const NamedCount& row : coverage.*list.rows) {
      table.rows.push_back({row.name, row.count, row.note.empty() ? Cell() : Cell(row.note)});
    }
    lists += table_markup(table);
  }
  return lists;
}

std::string meaning_of_loss(const std::string& name) {
  for (std::size_t i = 0; i < et_schema::kLossCount; ++i) {
    const et_schema::LossInfo& loss = et_schema::info(static_cast<et_schema::Loss>(i));
    if (loss.name == name) {
      return std::string(loss.meaning);
    }
  }
  return "";
}

}  // namespace

Section coverage_section(const Report& report) {
  const et_schema::Coverage& coverage = report.total.coverage;
  std::vector<Fact> facts = {
      {"selected", shown("/coverage/selected", coverage.selected)},
      {"replayed", shown("/coverage/replayed", coverage.replayed)},
      {"as recorded", shown("/coverage/exact", coverage.exact)},
      {"by count", shown("/coverage/count", coverage.count, CellKind::kPercent)}};
  if (coverage.time) {
    facts.push_back(
        {"by recorded time", shown("/coverage/time", coverage.time, CellKind::kPercent)});
    facts.push_back({"substituted, by time", shown("/coverage/substituted_time",
                                                   coverage.substituted_time, CellKind::kPercent)});
    facts.push_back({"dropped or stubbed, by time",
                     shown("/coverage/dropped_time", coverage.dropped_time, CellKind::kPercent)});
    for (std::size_t i = 0; i < coverage.other_time.size(); ++i) {
      facts.push_back({coverage.other_time[i].name + ", by time",
                       shown(fmt::format("/coverage/other_time/{}/share", i),
                             std::optional(coverage.other_time[i].share), CellKind::kPercent)});
    }
  } else {
    facts.push_back({"by recorded time", text("not known: no profile of the original is linked")});
  }
  for (const std::string& filter : report.filters) {
    facts.push_back({"filter", text(filter)});
  }
  return {"coverage", "Coverage", facts_markup(facts) + lists_of(coverage)};
}

Section values_section(const Report& report) {
  const RunFigures& total = report.total;
  Markup body = facts_markup(
      {{"outputs compared with the recorded ones",
        shown("/outputs_checked", total.outputs_checked)},
       {"of these differ in shape, dtype or stride",
        shown("/output_mismatches", total.output_mismatches)},
       {"tensors with NaN", shown("/values/nan", total.values.nan)},
       {"tensors with infinities", shown("/values/inf", total.values.inf)},
       {"tensors with subnormal numbers", shown("/values/subnormal", total.values.subnormal)},
       {"tensors with infinities that the trace itself writes",
        shown("/values/recorded_inf", total.values.recorded_inf)}});
  Table mismatches{.id = "mismatch-table",
                   .caption = fmt::format("Outputs that differ: {} of {}", total.mismatches.size(),
                                          total.output_mismatches),
                   .columns = {{"operator", CellKind::kText, "name"},
                               {"node", CellKind::kCount, "node"},
                               {"field", CellKind::kText, "field"},
                               {"expected", CellKind::kText, "expected"},
                               {"got", CellKind::kText, "got"}},
                   .at = "/mismatches"};
  for (const et_schema::OutputMismatch& row : total.mismatches) {
    mismatches.rows.push_back({row.name, row.node, row.field, row.expected, row.got});
  }
  Table findings{.id = "finding-table",
                 .caption = "Where such numbers were found first",
                 .columns = {{"operator", CellKind::kText, "name"},
                             {"node", CellKind::kCount, "node"},
                             {"kind", CellKind::kText, "kind"},
                             {"after iterations", CellKind::kCount, "iteration"}},
                 .at = "/value_findings"};
  for (const et_schema::ValueFinding& row : total.value_findings) {
    findings.rows.push_back({row.name, row.node, row.kind, row.iteration});
  }
  return {"values", "Outputs and values", body + table_markup(mismatches) + table_markup(findings)};
}

Section losses_section(const Report& report) {
  Table table{.id = "loss-table",
              .caption = "What was lost, assumed or repaired on the way from the trace",
              .columns = {{"loss"}, {"count", CellKind::kCount}, {"meaning"}}};
  for (const auto& [name, count] : report.total.losses) {
    table.rows.push_back({name, count, meaning_of_loss(name)});
  }
  return {"losses", "Losses",
          table.rows.empty() ? element("p", {},
                                       "None: nothing of the trace was lost, assumed or "
                                       "repaired.")
                             : table_markup(table)};
}

}  // namespace understudy::pages
