#include <fmt/format.h>

#include <functional>
#include <limits>

#include "cli/pages/document/table.h"
#include "comparison_parts.h"
#include "fleet/comparer/assessment.h"

namespace understudy::pages {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

using comparer::Comparison;
using comparer::Row;
using comparer::RowKind;
using comparer::Verdict;
using et_schema::Interval;

std::string verdict_text(const Row& row) {
  const std::string verdict(comparer::to_string(row.verdict));
  return row.why.empty() ? verdict : fmt::format("{} ({})", verdict, row.why);
}

/// Returns an end of the interval; an empty cell if the interval is too wide to be useful.
Cell end_of(const std::optional<Interval>& ratio, double Interval::*part) {
  constexpr double kMostWidth = 10;
  return ratio && ratio->high <= kMostWidth * ratio->low
             ? cell_of(std::optional<double>((*ratio).*part))
             : Cell();
}

Cell part_of(const std::optional<Interval>& ratio, double Interval::*part) {
  return ratio ? cell_of(std::optional<double>((*ratio).*part)) : Cell();
}

Table table_of(const Comparison& comparison, const std::string& id, const std::string& caption,
               const char* title, const char* detail, const std::function<bool(RowKind)>& is_shown,
               std::size_t top = kAll) {
  Table table{
      .id = id,
      .caption = caption,
      .columns = {texts(title, "name"), figures("A ms", "a_ms"), figures("B ms", "b_ms"),
                  changes("change ms", "change_ms"), ratios("B ÷ A", "ratio"),
                  ratios("from", "", "95 % interval"), ratios("to", "", "95 % interval"),
                  ratios("beside the rest", "", "what the clock and other classes leave of it"),
                  verdicts("verdict")},
      .shown_in_text = top};
  if (detail != nullptr) {
    table.columns.push_back(texts(detail, "detail"));
  }
  for (const Row& row : comparison.rows) {
    if (!is_shown(row.kind)) {
      continue;
    }
    std::vector<Cell> cells = {label_of(row),
                               cell_of(row.a_ms),
                               cell_of(row.b_ms),
                               cell_of(row.change_ms),
                               part_of(row.ratio, &Interval::value),
                               end_of(row.ratio, &Interval::low),
                               end_of(row.ratio, &Interval::high),
                               part_of(row.beside_rest, &Interval::value),
                               verdict_text(row)};
    if (detail != nullptr) {
      cells.emplace_back(row.detail);
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

bool is_class(RowKind kind) {
  return kind == RowKind::kClass || kind == RowKind::kGap;
}

Section classes_section(const Comparison& comparison, bool by_device) {
  Table table = table_of(comparison, "class-table",
                         comparison.by_kernels ? "Classes of kernels, by their names"
                         : by_device           ? "Classes of operators, by the device's own time"
                                               : "Classes of operators, by cost",
                         "class", nullptr, is_class);
  // Indexes of the columns of table_of().
  table.plots = {
      {.draw = Draw::kInterval,
       .caption = "B ÷ A by class, with 95 % intervals; right of the line B takes longer.",
       .columns = {4, 5, 6},
       .words = 8,
       .reference = 1},
      {.caption = "Time by class, ms an iteration.", .columns = {1, 2}, .unit = "ms"}};
  return {"classes", "Classes of operators", {table}};
}

}  // namespace

std::vector<Section> rows_sections(const Comparison& comparison, bool by_device, std::size_t top,
                                   const Table& times) {
  Notes clock;
  if (comparison.speed_probe) {
    clock.texts.push_back(
        fmt::format("A fixed piece of work took {:.3f} times as long in B: the cores' clock.",
                    comparison.speed_probe->value));
  }
  return {
      {"step",
       "Iteration time",
       {times,
        table_of(
            comparison, "step-table", "Step", "step", nullptr,
            [](RowKind kind) { return kind == RowKind::kIteration || kind == RowKind::kCommon; }),
        clock}},
      classes_section(comparison, by_device),
      {"operators",
       "Operators",
       {table_of(
            comparison, "operator-table", "Operators, by cost", "operator", "class",
            [](RowKind kind) { return kind == RowKind::kOperator; }, top),
        table_of(
            comparison, "device-table", "Operators, by the device's own time", "operator", "class",
            [](RowKind kind) { return kind == RowKind::kOnDevice; }, top)}},
      {"collectives",
       "Collectives",
       {table_of(comparison, "collective-table", "Collectives, by cost", "collective",
                 "group and size", [](RowKind kind) { return kind == RowKind::kCollective; })}}};
}

}  // namespace understudy::pages
