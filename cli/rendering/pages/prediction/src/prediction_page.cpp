#include "pages/prediction/prediction_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/figures.h"
#include "pages/plots/plots.h"

namespace understudy::pages {
namespace {

using cli::figure_text;

Cell number_cell(double number) {
  return cell_of(std::optional<double>(number));
}
Cell ratio_cell(double value, double base) {
  return base > 0 ? number_cell(value / base) : Cell();
}
Cell text_cell(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}
std::optional<double> known(double number) {
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string verdict_of(const PredictionData& data) {
  if (!std::isfinite(data.iteration_ms)) {
    return "No time could be predicted.";
  }
  std::string text = fmt::format("An iteration on {} would take {} ms", data.platform,
                                 figure_text(data.iteration_ms));
  if (std::isfinite(data.low_ms) && std::isfinite(data.high_ms)) {
    text += fmt::format(" ({} … {})", figure_text(data.low_ms), figure_text(data.high_ms));
  }
  if (data.recorded_ms > 0) {
    text += fmt::format(", {:.3f} times the original's {} ms", data.iteration_ms / data.recorded_ms,
                        figure_text(data.recorded_ms));
  }
  if (data.replayed_ms > 0) {
    return text + fmt::format("; measured there: {} ms, the prediction is {:+.1f} % off.",
                              figure_text(data.replayed_ms),
                              (data.iteration_ms / data.replayed_ms - 1) * 100);
  }
  return text + "; nobody ran this.";
}

Section parts_section(const PredictionData& data) {
  Bars plot{"Where an iteration goes, ms.",
            "ms",
            {"compute", "exposed communication", "host", "idle"},
            {}};
  Table table{.id = "rank-table",
              .caption = "Ranks, ms an iteration",
              .columns = {{"rank"},
                          {"iteration", CellKind::kFigure},
                          {"compute", CellKind::kFigure},
                          {"exposed communication", CellKind::kFigure},
                          {"host", CellKind::kFigure},
                          {"idle", CellKind::kFigure}}};
  constexpr std::size_t kMostDrawn = 16;
  for (const PredictedRank& rank : data.ranks) {
    if (plot.rows.size() < kMostDrawn) {
      plot.rows.push_back({rank.name,
                           {known(rank.compute_ms), known(rank.communication_ms),
                            known(rank.host_ms), known(rank.idle_ms)}});
    }
    table.rows.push_back({rank.name, number_cell(rank.iteration_ms), number_cell(rank.compute_ms),
                          number_cell(rank.communication_ms), number_cell(rank.host_ms),
                          number_cell(rank.idle_ms)});
  }
  return {"parts", "Where the time goes", bars(plot) + table_markup(table)};
}

Table rows_table(const std::vector<PredictedRow>& rows, const std::string& id,
                 const std::string& caption, const char* title, const char* detail) {
  Table table{.id = id, .caption = caption, .columns = {{title}}};
  if (detail != nullptr) {
    table.columns.push_back({detail});
  }
  for (const Column& column : {Column{"calls", CellKind::kCount}, Column{"ms", CellKind::kFigure},
                               Column{"from", CellKind::kFigure}, Column{"to", CellKind::kFigure},
                               Column{"recorded ms", CellKind::kFigure},
                               Column{"÷ recorded", CellKind::kRatio}, Column{"how it is known"}}) {
    table.columns.push_back(column);
  }
  for (const PredictedRow& row : rows) {
    std::vector<Cell> cells = {row.name};
    if (detail != nullptr) {
      cells.push_back(text_cell(row.detail));
    }
    for (Cell cell : {Cell(row.count), number_cell(row.ms), number_cell(row.low_ms),
                      number_cell(row.high_ms), number_cell(row.recorded_ms),
                      ratio_cell(row.ms, row.recorded_ms), text_cell(row.source)}) {
      cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Section classes_section(const PredictionData& data) {
  const bool has_recorded = std::ranges::any_of(
      data.classes, [](const PredictedRow& row) { return std::isfinite(row.recorded_ms); });
  Bars plot{"Time by class of operator, ms an iteration.", "ms", {"predicted"}, {}};
  if (has_recorded) {
    plot.series.emplace_back("recorded");
  }
  for (const PredictedRow& row : data.classes) {
    BarRow bar{row.name, {known(row.ms)}};
    if (has_recorded) {
      bar.values.push_back(known(row.recorded_ms));
    }
    plot.rows.push_back(std::move(bar));
  }
  return {"classes", "Time by class",
          bars(plot) +
              table_markup(rows_table(data.classes, "class-table",
                                      "Classes of operators, ms an iteration", "class", nullptr))};
}

Section path_section(const PredictionData& data) {
  Table table{.id = "path-table",
              .caption =
                  "What the iteration waits for, from its begin to its end: making any of "
                  "these shorter makes it shorter",
              .columns = {{"what"},
                          {"kind"},
                          {"times", CellKind::kCount},
                          {"ms", CellKind::kFigure},
                          {"share", CellKind::kShare}}};
  for (const PredictedPathRow& row : data.critical_path) {
    table.rows.push_back({row.name, text_cell(row.kind), row.count, number_cell(row.ms),
                          ratio_cell(row.ms, data.iteration_ms)});
  }
  return {"path", "Critical path", table_markup(table)};
}

Section about_section(const PredictionData& data) {
  std::vector<Fact> facts = {{"how", text(data.method)}};
  for (const auto& [name, value] : data.facts) {
    facts.push_back({name, text(value)});
  }
  return {"about", "How it was predicted", facts_markup(facts)};
}

std::vector<KeyFigure> figures_of(const PredictionData& data) {
  std::vector<KeyFigure> figures = {
      {"Iteration, predicted", text(figure_text(data.iteration_ms) + " ms")}};
  if (std::isfinite(data.recorded_ms)) {
    figures.push_back({"The original's step", text(figure_text(data.recorded_ms) + " ms")});
  }
  if (std::isfinite(data.replayed_ms)) {
    figures.push_back({"Measured there", text(figure_text(data.replayed_ms) + " ms")});
  }
  if (std::isfinite(data.modelled_share)) {
    figures.push_back({"Of the time by a model", text(cli::percent_text(data.modelled_share)),
                       "the rest is a bound or taken as recorded"});
  }
  return figures;
}

}  // namespace

Page prediction_page(const PredictionData& data) {
  Page page;
  page.title = fmt::format("{} on {}, predicted", data.benchmark, data.platform);
  page.subtitle = data.date;
  page.tone =
      data.warnings.empty() && std::isfinite(data.iteration_ms) ? Tone::kNeutral : Tone::kAttention;
  page.verdict = verdict_of(data);
  page.findings = data.warnings;
  page.figures = figures_of(data);
  page.sections = {
      parts_section(data),
      {"timeline", "Timeline", timeline(data.timeline)},
      path_section(data),
      classes_section(data),
      {"operators", "Operators",
       table_markup(rows_table(data.operators, "operator-table", "Operators, ms an iteration",
                               "operator", "class"))},
      {"collectives", "Collectives",
       table_markup(rows_table(data.collectives, "collective-table", "Collectives, ms an iteration",
                               "collective", "group and size"))},
      about_section(data)};
  page.data = data.json;
  page.data_name = "prediction.json";
  page.footer = "Understudy " + data.tool_version;
  return page;
}

}  // namespace understudy::pages
