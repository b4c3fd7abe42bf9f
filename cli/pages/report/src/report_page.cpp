#include "cli/pages/report/report_page.h"

#include <fmt/format.h>

#include "cli/pages/document/account.h"
#include "et_schema/base/figures.h"
#include "et_schema/formats/report/report_json.h"
#include "report_parts.h"

namespace understudy::pages {
namespace {

using et_schema::counted;
using et_schema::Report;

std::string subtitle_of(const Report& report) {
  const et_schema::Environment& environment = report.environment;
  std::string text = counted(report.world_size, "rank");
  for (const std::string& part :
       {environment.device, environment.device == "cpu" ? environment.cpu_model : std::string(),
        environment.date_utc}) {
    text += part.empty() ? "" : ", " + part;
  }
  return text;
}

std::vector<KeyFigure> figures_of(const ReportData& data) {
  const et_schema::RunFigures& total = data.report.total;
  const auto figure = [&](const char* at, const char* name, CellKind kind, const char* unit = "") {
    return fact_at(data.json, at, name, kind, unit);
  };
  std::vector<KeyFigure> figures = {
      {figure("/iteration_ms/median", "Iteration, median", CellKind::kFigure, "ms"),
       counted(total.iteration_ms.samples.size(), "iteration")}};
  if (const auto compared = et_schema::compared_step(data.report);
      compared && total.iteration_ms.median) {
    figures.push_back(
        {fact_at(data.json, "/original/" + compared->first, "The original's step",
                 CellKind::kFigure, "ms"),
         fmt::format("replay ÷ original {:.3f}", *total.iteration_ms.median / compared->second)});
  }
  figures.push_back(
      {figure("/coverage/count", "Coverage, by count", CellKind::kPercent),
       total.coverage.time
           ? "by recorded time " + cell_text(cell_of(total.coverage.time), CellKind::kPercent)
           : std::string("by time: not known")});
  figures.push_back(
      {figure("/output_mismatches", "Outputs that differ", CellKind::kCount),
       fmt::format("of {} checked", cell_text(Cell(total.outputs_checked), CellKind::kCount))});
  figures.push_back({figure("/memory/peak_bytes", "Measured peak of tensors", CellKind::kBytes),
                     data.report.world_size > 1 ? "the largest rank" : ""});
  return figures;
}

Page page_of(const ReportData& data) {
  const std::string& benchmark = data.report.environment.benchmark;
  Page page;
  page.title = "Replay of " + (benchmark.empty() ? std::string("a benchmark") : benchmark);
  page.subtitle = subtitle_of(data.report);
  page.verdict = et_schema::verdict_of(data.report);
  page.figures = figures_of(data);
  const et_schema::StepWork& work = data.report.total.work;
  if (work.mfu) {
    page.figures.push_back(
        {fact_at(data.json, "/work/mfu", "MFU", CellKind::kPercent), "of " + work.peak});
  }
  page.sections = {classes_section(data),     work_section(data.json),  original_section(data),
                   iterations_section(data),  operators_section(data),  collectives_section(data),
                   ranks_section(data),       memory_section(data),     gpu_section(data),
                   coverage_section(data),    losses_section(data),     values_section(data),
                   measurement_section(data), pace_section(data),       graphs_section(data),
                   system_section(data),      environment_section(data)};
  page.footer = "Understudy " + data.report.environment.tool_version;
  return page;
}

}  // namespace

Page report_page(const Report& report) {
  Page page = page_of({report, et_schema::json_of(report)});
  page.data = et_schema::to_json(report);
  page.data_name = "report.json";
  // Samples of operators and collectives, which are most of a report, and each rank's lists.
  page.unseen = {{3, "samples_ms"},
                 {3, "samples_us"},
                 {3, "moving_samples_us"},
                 {3, "operators"},
                 {3, "collectives"}};
  return page;
}

}  // namespace understudy::pages
