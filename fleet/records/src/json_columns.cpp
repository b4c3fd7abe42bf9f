#include "json_columns.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"

namespace understudy::fleet {
namespace {

using nlohmann::json;

/// Returns `read(json)` of the column. Type errors in `read` mean a damaged database.
template <typename Read>
auto read_json(const Row& row, std::size_t column, const CellPlace& place, const char* expected,
               Read read) {
  std::string got = "JSON of another kind";
  try {
    return read(et_schema::parse_json(row.text(column), {}));
  } catch (const et_schema::Error& error) {
    got = error.context().got;
  } catch (const json::exception&) {  // another kind of value
  }
  throw damaged_database(
      {.file = row.file(),
       .field = fmt::format("{}.{} of row {}", place.table, place.column, place.row),
       .expected = expected,
       .got = std::move(got)});
}

}  // namespace

std::string column_of(const std::vector<std::string>& texts) {
  return json(texts).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<std::string> texts_of(const Row& row, std::size_t column, const CellPlace& place) {
  return read_json(row, column, place, "a JSON list of texts",
                   [](const json& document) { return document.get<std::vector<std::string>>(); });
}

std::map<std::string, double> numbers_of(const Row& row, std::size_t column,
                                         const CellPlace& place) {
  return read_json(row, column, place, "a JSON object of numbers", [](const json& document) {
    return document.get<std::map<std::string, double>>();
  });
}

std::string object_text_of(const Row& row, std::size_t column, const CellPlace& place) {
  std::string text = row.text(column);
  if (!text.empty()) {
    read_json(row, column, place, "a JSON object", [](const json& document) {
      return document.get_ref<const json::object_t&>().size();
    });
  }
  return text;
}

}  // namespace understudy::fleet
