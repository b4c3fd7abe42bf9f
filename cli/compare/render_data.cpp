#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/json_csv.h"
#include "common/table.h"
#include "compare/render.h"

namespace understudy::cli {
namespace {

using comparer::Comparison;
using comparer::Ratio;
using comparer::Row;
using comparer::RowKind;
using comparer::Run;
using Json = nlohmann::ordered_json;

constexpr int kComparisonVersion = 1;

template <typename Number>
Json json_of(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json json_of(const std::optional<Ratio>& ratio) {
  return ratio ? Json{{"value", ratio->value}, {"low", ratio->low}, {"high", ratio->high}}
               : Json(nullptr);
}

Json json_of(const std::vector<Run>& runs) {
  Json list = Json::array();
  for (const Run& run : runs) {
    list.push_back({{"file", run.file},
                    {"source", run.is_profile ? "profile" : "report"},
                    {"benchmark", run.environment.benchmark},
                    {"benchmark_hash", run.environment.benchmark_hash},
                    {"date_utc", run.environment.date_utc},
                    {"complete", run.interrupted_by.empty()},
                    {"world_size", run.world_size}});
  }
  return list;
}

template <typename Number>
std::string csv_of(const std::optional<Number>& number) {
  return number ? fmt::format("{}", *number) : "";
}

void add_csv(std::vector<std::string>& cells, const std::optional<Ratio>& ratio) {
  for (const auto part : {&Ratio::value, &Ratio::low, &Ratio::high}) {
    cells.push_back(ratio ? fmt::format("{}", (*ratio).*part) : "");
  }
}

}  // namespace

std::string_view kind_name(RowKind kind) {
  switch (kind) {
    case RowKind::kIteration:
      return "iteration";
    case RowKind::kCommon:
      return "common";
    case RowKind::kClass:
      return "class";
    case RowKind::kGap:
      return "gap";
    case RowKind::kOperator:
      return "operator";
    case RowKind::kOnDevice:
      return "operator on the device";
    case RowKind::kSpeedProbe:  // no row of a comparison
    case RowKind::kCollective:
      break;
  }
  return "collective";
}

namespace {

/// All but the rows.
Json head_of(const Comparison& comparison, const ComparedRuns& runs) {
  Json differences = Json::array();
  for (const comparer::EnvironmentDifference& row : comparison.differences) {
    differences.push_back({{"field", row.field}, {"a", row.a}, {"b", row.b}});
  }
  return {{"format", "understudy-comparison"},
          {"version", kComparisonVersion},
          {"a", json_of(runs.a)},
          {"b", json_of(runs.b)},
          {"environment_differences", std::move(differences)},
          {"is_alike", comparison.is_alike},
          {"switches_per_s", json_of(comparison.switches_per_s)},
          {"was_busy", comparison.was_busy},
          {"speed_probe", json_of(comparison.speed_probe)},
          {"samples_left_out", comparison.samples_left_out}};
}

}  // namespace

std::string comparison_json(const Comparison& comparison, const ComparedRuns& runs) {
  Json rows = Json::array();
  for (const Row& row : comparison.rows) {
    rows.push_back({{"kind", kind_name(row.kind)},
                    {"name", row.name},
                    {"detail", row.detail},
                    {"count_a", json_of(row.count_a)},
                    {"count_b", json_of(row.count_b)},
                    {"a_ms", json_of(row.a_ms)},
                    {"b_ms", json_of(row.b_ms)},
                    {"change_ms", json_of(row.change_ms)},
                    {"ratio", json_of(row.ratio)},
                    {"beside_rest", json_of(row.beside_rest)},
                    {"p", json_of(row.p)},
                    {"verdict", comparer::to_string(row.verdict)},
                    {"why", row.why}});
  }
  Json json = head_of(comparison, runs);
  json["rows"] = std::move(rows);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string comparison_csv(const Comparison& comparison, const ComparedRuns& runs) {
  TextTable table({{"kind"},
                   {"name"},
                   {"detail"},
                   {"count_a"},
                   {"count_b"},
                   {"a_ms"},
                   {"b_ms"},
                   {"change_ms"},
                   {"ratio"},
                   {"ratio_low"},
                   {"ratio_high"},
                   {"beside_rest"},
                   {"beside_rest_low"},
                   {"beside_rest_high"},
                   {"p"},
                   {"verdict"},
                   {"why"},
                   {"value"}});
  for (const Row& row : comparison.rows) {
    std::vector<std::string> cells = {std::string(kind_name(row.kind)),
                                      row.name,
                                      row.detail,
                                      csv_of(row.count_a),
                                      csv_of(row.count_b),
                                      csv_of(row.a_ms),
                                      csv_of(row.b_ms),
                                      csv_of(row.change_ms)};
    add_csv(cells, row.ratio);
    add_csv(cells, row.beside_rest);
    cells.push_back(csv_of(row.p));
    cells.emplace_back(comparer::to_string(row.verdict));
    cells.push_back(row.why);
    cells.emplace_back();
    table.add(std::move(cells));
  }
  constexpr std::size_t kColumns = 18;
  for (const JsonFigure& figure : figures_of(head_of(comparison, runs))) {
    const std::string section = figure.section.empty() ? "comparison" : figure.section;
    std::vector<std::string> cells = {
        section, figure.name,
        figure.detail.empty() ? figure.metric : figure.detail + ": " + figure.metric};
    cells.resize(kColumns);
    cells.back() = figure.value;
    table.add(std::move(cells));
  }
  return table.to_csv();
}

}  // namespace understudy::cli
