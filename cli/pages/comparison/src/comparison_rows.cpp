#include <fmt/format.h>

#include <functional>

#include "cli/pages/document/walked.h"
#include "comparison_figures.h"
#include "comparison_parts.h"
#include "fleet/comparer/assessment.h"

namespace understudy::pages {
namespace {

using comparer::Comparison;
using comparer::Row;
using comparer::RowKind;

std::string verdict_text(const Row& row) {
  const std::string verdict(comparer::to_string(row.verdict));
  return row.why.empty() ? verdict : fmt::format("{} ({})", verdict, row.why);
}

/// Returns true if an interval is too wide to be useful.
bool is_wide(const std::optional<et_schema::Interval>& ratio) {
  constexpr double kMostWidth = 10;
  return ratio && ratio->high > kMostWidth * ratio->low;
}

// Columns of a row's description.
constexpr std::size_t kName = 0;
constexpr std::size_t kRatio = 4;
constexpr std::size_t kLow = 5;
constexpr std::size_t kHigh = 6;
constexpr std::size_t kVerdict = 8;

class RowTables {
 public:
  RowTables(const Comparison& comparison, const nlohmann::ordered_json& json)
      : comparison_(comparison), json_(json) {}

  [[nodiscard]] Table of(const std::string& id, const std::string& caption, const char* title,
                         const char* detail, const std::function<bool(RowKind)>& is_shown,
                         std::size_t top = kAll) const {
    std::vector<Column> columns = columns_of<Row>();
    columns[kName].title = title;
    if (detail != nullptr) {
      columns.push_back(texts(detail, "detail"));
    }
    Table table = table_at(json_, "/rows", caption, std::move(columns), top);
    table.id = id;
    table.at.clear();  // this table shows only some rows of the JSON's list
    std::vector<std::vector<Cell>> shown;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const Row& row = comparison_.rows[i];
      if (is_shown(row.kind)) {
        std::vector<Cell>& cells = shown.emplace_back(std::move(table.rows[i]));
        cells[kName] = label_of(row);
        cells[kVerdict] = verdict_text(row);
        if (is_wide(row.ratio)) {
          cells[kLow] = cells[kHigh] = Cell();
        }
      }
    }
    table.rows = std::move(shown);
    return table;
  }

 private:
  const Comparison& comparison_;
  const nlohmann::ordered_json& json_;
};

bool is_class(RowKind kind) {
  return kind == RowKind::kClass || kind == RowKind::kGap;
}

Section classes_section(const Comparison& comparison, const RowTables& tables, bool by_device) {
  Table table = tables.of("class-table",
                          comparison.by_kernels ? "Classes of kernels, by their names"
                          : by_device           ? "Classes of operators, by the device's own time"
                                                : "Classes of operators, by cost",
                          "class", nullptr, is_class);
  table.plots = {
      {.draw = Draw::kInterval,
       .caption = "B ÷ A by class, with 95 % intervals; right of the line B takes longer.",
       .columns = {kRatio, kLow, kHigh},
       .words = kVerdict,
       .reference = 1},
      {.caption = "Time by class, ms an iteration.", .columns = {1, 2}, .unit = "ms"}};
  return {"classes", "Classes of operators", {table}};
}

}  // namespace

std::vector<Section> rows_sections(const Comparison& comparison, const nlohmann::ordered_json& json,
                                   bool by_device, std::size_t top, const Table& times) {
  const RowTables tables(comparison, json);
  Notes clock;
  if (comparison.speed_probe) {
    clock.texts.push_back(
        fmt::format("A fixed piece of work took {:.3f} times as long in B: the cores' clock.",
                    comparison.speed_probe->value));
  }
  return {{"step",
           "Iteration time",
           {times,
            tables.of("step-table", "Step", "step", nullptr,
                      [](RowKind kind) {
                        return kind == RowKind::kIteration || kind == RowKind::kCommon;
                      }),
            clock}},
          classes_section(comparison, tables, by_device),
          {"operators",
           "Operators",
           {tables.of(
                "operator-table", "Operators, by cost", "operator", "class",
                [](RowKind kind) { return kind == RowKind::kOperator; }, top),
            tables.of(
                "device-table", "Operators, by the device's own time", "operator", "class",
                [](RowKind kind) { return kind == RowKind::kOnDevice; }, top)}},
          {"collectives",
           "Collectives",
           {tables.of("collective-table", "Collectives, by cost", "collective", "group and size",
                      [](RowKind kind) { return kind == RowKind::kCollective; })}}};
}

}  // namespace understudy::pages
