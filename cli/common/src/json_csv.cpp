#include "cli/common/json_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "et_schema/base/quote.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
/// The table of what is in no list.
constexpr const char* kDocument = "document";
/// Cells by their columns.
using Row = std::vector<std::pair<std::string, std::string>>;

struct CsvTable {
  std::string name;
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

/// Returns what names an element of a list.
std::string name_of(const Json& element, std::size_t place) {
  for (const char* const key : {"rank", "name", "job"}) {
    if (element.is_object() && element.contains(key)) {
      return json_text(element.at(key));
    }
  }
  return std::to_string(place);
}

class Tables {
 public:
  /// Adds a row of `cells` and the object's values, and the tables of its lists, whose rows begin
  /// with `around`.
  void add_row(const std::string& table, Row cells, const Json& object, const Row& around) {
    std::vector<std::pair<std::string, const Json*>> lists;
    add_members("", object, cells, lists);
    if (!cells.empty()) {
      add_cells(number_of(table), std::move(cells));
    }
    for (const auto& [key, list] : lists) {
      add_list(table == kDocument ? key : table + "." + key, key, *list, around);
    }
  }

  [[nodiscard]] const std::vector<CsvTable>& tables() const { return tables_; }

 private:
  static void add_members(const std::string& prefix, const Json& object, Row& row,
                          std::vector<std::pair<std::string, const Json*>>& lists) {
    for (const auto& [key, value] : object.items()) {
      if (value.is_object()) {
        add_members(prefix + key + ".", value, row, lists);
      } else if (value.is_array()) {
        lists.emplace_back(prefix + key, &value);
      } else {
        row.emplace_back(prefix + key, json_text(value));
      }
    }
  }

  void add_list(const std::string& table, const std::string& key, const Json& list,
                const Row& around) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_object()) {
        Row below = around;
        below.emplace_back(key, name_of(list[i], i));
        add_row(table, around, list[i], below);
      } else {
        Row cells = around;
        cells.emplace_back("place", std::to_string(i));
        cells.emplace_back("value", json_text(list[i]));
        add_cells(number_of(table), std::move(cells));
      }
    }
  }

  std::size_t number_of(const std::string& table) {
    const auto [found, is_new] = numbers_.try_emplace(table, tables_.size());
    if (is_new) {
      tables_.push_back({table, {}, {}});
    }
    return found->second;
  }

  void add_cells(std::size_t number, Row row) {
    CsvTable& table = tables_[number];
    for (const auto& [column, cell] : row) {
      if (std::ranges::find(table.columns, column) == table.columns.end()) {
        table.columns.push_back(column);
      }
    }
    table.rows.push_back(std::move(row));
  }

  std::vector<CsvTable> tables_;
  std::map<std::string, std::size_t> numbers_;
};

std::string line_of(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted(cells.size());
  std::ranges::transform(cells, quoted.begin(), et_schema::csv_cell);
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

}  // namespace

std::string json_text(const Json& value) {
  if (value.is_null()) {
    return "";
  }
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_to_csv(const Json& document) {
  Tables tables;
  tables.add_row(kDocument, {}, document, {});
  std::string csv;
  for (const CsvTable& table : tables.tables()) {
    csv += (csv.empty() ? "# " : "\n# ") + table.name + "\n" + line_of(table.columns);
    for (const Row& row : table.rows) {
      std::vector<std::string> cells(table.columns.size());
      for (const auto& [column, cell] : row) {
        cells[static_cast<std::size_t>(std::ranges::find(table.columns, column) -
                                       table.columns.begin())] = cell;
      }
      csv += line_of(cells);
    }
  }
  return csv;
}

}  // namespace understudy::cli
