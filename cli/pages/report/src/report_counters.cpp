#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>

#include "et_schema/base/figures.h"
#include "et_schema/facts/counters.h"
#include "report_parts.h"

namespace understudy::pages {
namespace {

using et_schema::Counters;

/// What a terminal shows of operators.
constexpr std::array<std::string_view, 5> kTelling = {"sm_active", "tensor_active", "dram_bytes",
                                                      "ipc", "cache_misses"};

CellKind kind_of(std::string_view name) {
  return name.ends_with("_bytes")                           ? CellKind::kBytes
         : name.ends_with("_active") || name == "occupancy" ? CellKind::kShare
         : et_schema::counter_fact(name).adds_up()          ? CellKind::kCount
                                                            : CellKind::kFigure;
}

std::string place_of(const char* part, const std::string& name) {
  return (Json::json_pointer(part) / name).to_string();  // escapes "/"
}

std::vector<Counters> counters_of(const ReportData& data) {
  std::vector<Counters> rows;
  std::ranges::transform(data.report.total.operators, std::back_inserter(rows),
                         &et_schema::OperatorTime::counters);
  return rows;
}

}  // namespace

Facts iteration_counters(const ReportData& data) {
  const et_schema::RunFigures& total = data.report.total;
  Facts facts;
  for (const std::string& name : et_schema::counter_names({{total.counters}})) {
    std::string text(et_schema::counter_fact(name).text);
    const auto spread = total.counter_spreads.find(name);
    if (spread != total.counter_spreads.end() && total.counters.at(name) > 0) {
      text += fmt::format(" (spread {})",
                          et_schema::share_text(spread->second / total.counters.at(name)));
    }
    facts.push_back(fact_at(data.json, place_of("/counters", name), text, kind_of(name)));
  }
  for (const auto& [source, state] : total.counter_sources) {
    facts.push_back({"counters of " + source, state});
  }
  return facts;
}

std::vector<Column> operator_counters(const ReportData& data) {
  std::vector<Column> columns;
  for (const std::string& name : et_schema::counter_names(counters_of(data))) {
    Column column = column_of(kind_of(name), name, place_of("/counters", name).substr(1),
                              std::string(et_schema::counter_fact(name).text));
    const bool is_telling = std::ranges::find(kTelling, name) != kTelling.end();
    columns.push_back(is_telling ? column : shortened(column, 0));
  }
  return columns;
}

Table class_counters(const ReportData& data) {
  const std::vector<Counters> rows = counters_of(data);
  const Counters all = et_schema::combined(rows);
  std::map<std::string, std::vector<Counters>> classes;
  for (const et_schema::OperatorTime& row : data.report.total.operators) {
    classes[row.op_class].push_back(row.counters);
  }
  Table table{.id = "class-counters-table",
              .caption = "Counters by class of operator, an iteration",
              .columns = {texts("class")}};
  for (const auto& [name, counters] : classes) {
    table.rows.push_back({name});
  }
  for (const Column& column : operator_counters(data)) {
    const std::string& name = column.title;
    const auto sum = all.find(name);
    const bool has_shares =
        et_schema::counter_fact(name).adds_up() && sum != all.end() && sum->second > 0;
    table.columns.push_back(column);
    if (has_shares) {
      table.columns.push_back(shares("share", name + " share", "of all operators' " + name));
      table.columns.back().most_in_text = column.most_in_text;
    }
    auto row = table.rows.begin();
    for (const auto& [op_class, counters] : classes) {
      const Counters of_class = et_schema::combined(counters);
      const auto found = of_class.find(name);
      const std::optional<double> value =
          found == of_class.end() ? std::nullopt : std::optional(found->second);
      row->push_back(cell_of(value));
      if (has_shares) {
        row->push_back(cell_of(value ? std::optional(*value / sum->second) : std::nullopt));
      }
      ++row;
    }
  }
  const auto is_hidden = [](const Column& column) { return column.most_in_text == 0; };
  const auto counters = std::span(table.columns).subspan(1);
  if (counters.empty()) {
    table.rows.clear();
  } else if (std::ranges::all_of(counters, is_hidden)) {
    table.shown_in_text = 0;
  }
  return table;
}

}  // namespace understudy::pages
