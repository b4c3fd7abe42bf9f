#include "pages/report/report_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "et_schema/report/report_json.h"
#include "parts.h"

namespace understudy::pages {
namespace {

using et_schema::Report;
using et_schema::RunFigures;
using Json = nlohmann::ordered_json;

/// Samples of single operators and collectives, and these of single ranks, are most of a report,
/// and nothing on the page shows them.
void drop_unseen(Json& report) {
  for (const char* const list : {"operators", "collectives"}) {
    for (Json& row : report[list]) {
      for (const char* const samples : {"samples_ms", "samples_us", "moving_samples_us"}) {
        row.erase(samples);
      }
    }
    for (Json& rank : report["ranks"]) {
      rank.erase(list);
    }
  }
}

std::string data_of(const Report& report) {
  Json json = Json::parse(et_schema::to_json(report));
  drop_unseen(json);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string subtitle_of(const Report& report) {
  const et_schema::Environment& environment = report.environment;
  std::string text = counted(static_cast<std::uint64_t>(report.world_size), "rank");
  for (const std::string& part :
       {environment.device, environment.device == "cpu" ? environment.cpu_model : std::string(),
        environment.date_utc}) {
    text += part.empty() ? "" : ", " + part;
  }
  return text;
}

std::vector<KeyFigure> figures_of(const Report& report) {
  const RunFigures& total = report.total;
  std::vector<KeyFigure> figures = {
      {"Iteration, median",
       shown("/iteration_ms/median", total.iteration_ms.median, CellKind::kFigure, "ms"),
       counted(total.iteration_ms.samples.size(), "iteration")}};
  const std::optional<double> recorded = recorded_step_ms(report);
  if (recorded && total.iteration_ms.median && *recorded > 0) {
    const char* const pointer =
        total.original.unprofiled_ms ? "/original/unprofiled_ms" : "/original/step_ms";
    figures.push_back(
        {"The original's step", shown(pointer, recorded, CellKind::kFigure, "ms"),
         fmt::format("replay ÷ original {:.3f}", *total.iteration_ms.median / *recorded)});
  }
  figures.push_back(
      {"Coverage, by count", shown("/coverage/count", total.coverage.count, CellKind::kPercent),
       total.coverage.time
           ? "by recorded time " + cell_text(cell_of(total.coverage.time), CellKind::kPercent)
           : std::string("by time: not known")});
  figures.push_back(
      {"Outputs that differ", shown("/output_mismatches", total.output_mismatches),
       fmt::format("of {} checked", cell_text(Cell(total.outputs_checked), CellKind::kCount))});
  figures.push_back({"Peak of tensors",
                     shown("/memory/peak_bytes", total.memory.peak_bytes, CellKind::kBytes),
                     report.world_size > 1 ? "the largest rank" : ""});
  return figures;
}

}  // namespace

Markup shown(const std::string& pointer, const std::optional<double>& value, CellKind kind,
             const std::string& unit) {
  const Cell cell = cell_of(value);
  if (std::holds_alternative<std::monostate>(cell)) {
    return text("–");
  }
  const Markup figure =
      figure_at(pointer, fmt::format("{}", std::get<double>(cell)), cell_text(cell, kind));
  return unit.empty() ? figure : figure + text(" " + unit);
}

Markup shown(const std::string& pointer, std::uint64_t value, CellKind kind) {
  return figure_at(pointer, fmt::format("{}", value), cell_text(Cell(value), kind));
}

Markup warnings_of(const Report& report, const std::string& figure) {
  Markup list;
  for (const et_schema::MeasurementWarning& warning : report.warnings) {
    if (warning.figure == figure) {
      list += element("li", {}, warning.text);
    }
  }
  return list.empty() ? list : element("ul", {{"class", "warnings"}}, list);
}

Page report_page(const Report& report) {
  const ReportVerdict verdict = verdict_of(report);
  const std::string& benchmark = report.environment.benchmark;
  Page page;
  page.title = "Replay of " + (benchmark.empty() ? std::string("a benchmark") : benchmark);
  page.subtitle = subtitle_of(report);
  page.tone = verdict.tone;
  page.verdict = verdict.sentence;
  page.findings = verdict.findings;
  page.figures = figures_of(report);
  page.sections = {
      iterations_section(report), original_section(report),    classes_section(report),
      operators_section(report),  collectives_section(report), ranks_section(report),
      memory_section(report),     gpu_section(report),         coverage_section(report),
      losses_section(report),     values_section(report),      pace_section(report),
      system_section(report),     environment_section(report)};
  page.data = data_of(report);
  page.data_name = "report.json";
  page.footer = "Understudy " + report.environment.tool_version;
  return page;
}

}  // namespace understudy::pages
