#include "pages/html/from_json.h"

#include <utility>

namespace understudy::pages {

using Json = nlohmann::ordered_json;

Cell cell_of(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.empty() ? Cell() : Cell(text);
  }
  if (value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0)) {
    return value.get<std::uint64_t>();
  }
  return value.is_number() ? cell_of(std::optional(value.get<double>())) : Cell();
}

Fact fact_at(const Json& data, const std::string& at, std::string name, CellKind kind,
             std::string unit) {
  return {std::move(name), cell_of(data.at(Json::json_pointer(at))), kind, std::move(unit), at};
}

Table table_at(const Json& data, Table table) {
  for (const Json& object : data.at(Json::json_pointer(table.at))) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const Column& column : table.columns) {
      const auto found = column.key.empty() ? object.end() : object.find(column.key);
      cells.push_back(found == object.end() ? Cell() : cell_of(*found));
    }
  }
  return table;
}

}  // namespace understudy::pages
