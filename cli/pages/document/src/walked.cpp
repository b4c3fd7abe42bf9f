#include "cli/pages/document/walked.h"

#include <algorithm>
#include <iterator>

namespace understudy::pages {
namespace {

/// Returns the unit at the end of a key or before "_per_"; otherwise empty.
std::string unit_of(std::string_view key) {
  key = key.substr(0, key.find("_per_"));
  const std::string_view end = key.substr(key.rfind('_') + 1);
  return end == "us" ? "µs" : end == "ms" || end == "ns" ? std::string(end) : "";
}

/// Adds what the rows of a list count together: without rows only this tells that there are none.
void add_sum(const Table& table, Facts& facts) {
  const auto count = std::ranges::find(table.columns, "count", &Column::key);
  if (count != table.columns.end()) {
    std::uint64_t sum = 0;
    for (const std::vector<Cell>& row : table.rows) {
      sum += std::get<std::uint64_t>(row[static_cast<std::size_t>(count - table.columns.begin())]);
    }
    facts.push_back({table.caption, sum, CellKind::kCount});
  }
}

}  // namespace

void ShownMembers::add_interval(Column column) {
  const Column ends = column;
  column.key += "/value";
  column.hint.clear();
  members_.push_back({std::move(column)});
  if (!ends.hint.empty()) {
    members_.push_back({column_of(ends.kind, "from", ends.key + "/low", ends.hint)});
    members_.push_back({column_of(ends.kind, "to", ends.key + "/high", ends.hint)});
  }
}

std::vector<Block> blocks_at(const nlohmann::ordered_json& data, const std::string& at,
                             const std::vector<ShownMember>& members) {
  if (!data.contains(nlohmann::ordered_json::json_pointer(at))) {
    return {Facts()};
  }
  Facts facts;
  std::vector<Block> tables;
  for (const auto& [column, rows] : members) {
    const std::string place = at + "/" + column.key;
    if (!rows.empty()) {
      const Table& table =
          std::get<Table>(tables.emplace_back(table_at(data, place, column.title, rows)));
      add_sum(table, facts);
      continue;
    }
    const std::string unit = unit_of(column.key);
    const bool has_unit = column.kind == CellKind::kFigure;
    facts.push_back(fact_at(data, place, column.title, column.kind,
                            !has_unit      ? ""
                            : unit.empty() ? unit_of(at)
                                           : unit));
  }
  std::vector<Block> blocks = {std::move(facts)};
  std::ranges::move(tables, std::back_inserter(blocks));
  return blocks;
}

Table without_unknown(Table table) {
  for (std::size_t i = table.columns.size(); i-- > 1;) {
    const bool is_known = std::ranges::any_of(table.rows, [i](const std::vector<Cell>& row) {
      return !std::holds_alternative<std::monostate>(row[i]);
    });
    if (!is_known) {
      const auto place = static_cast<std::ptrdiff_t>(i);
      table.columns.erase(table.columns.begin() + place);
      for (std::vector<Cell>& row : table.rows) {
        row.erase(row.begin() + place);
      }
    }
  }
  return table;
}

}  // namespace understudy::pages
