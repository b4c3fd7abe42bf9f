#include "predictor/embedding/task.h"

#include <set>
#include <utility>

#include "et_schema/support/json_record.h"
#include "et_schema/support/quote.h"
#include "et_schema/support/version.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

constexpr const char* kTablesFormat = "understudy-tables";
constexpr const char* kLocal = "local";
constexpr const char* kExchanged = "exchanged";

}  // namespace

std::string to_json(const ShardTask& task) {
  ordered_json json = {{"format", kTablesFormat},
                       {"version", kTablesVersion},
                       {"tool_version", et_schema::kToolVersion},
                       {"batch", task.batch},
                       {"indices", task.has_local_indices ? kLocal : kExchanged},
                       {"tables", ordered_json::array()}};
  for (const auto& [name, table] : task.tables) {
    ordered_json of_table = {{"name", name}};
    of_table.update(json_value(table));
    json["tables"].push_back(std::move(of_table));
  }
  return et_schema::dump_lines(json, 2) + "\n";
}

ShardTask parse_tables(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the tables cannot be read",
                                     "docs/formats.md, \"Tables\", has an example"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const JsonField root(document, source);
  if (root.find("format")) {
    et_schema::check_format(root, {"file of tables", kTablesFormat, kTablesVersion});
  }
  ShardTask task;
  if (const auto batch = root.find("batch")) {
    task.batch = batch->as_int();
    if (task.batch < 1) {
      batch->fail("1 or more");
    }
  }
  if (const auto indices = root.find("indices")) {
    task.has_local_indices = indices->as_text() == kLocal;
    if (!task.has_local_indices && indices->as_text() != kExchanged) {
      indices->fail("local or exchanged", indices->as_text());
    }
  }
  std::set<std::string> names;
  const JsonField tables = root.at("tables");
  for (const JsonField& field : tables.items()) {
    const auto name = field.find("name");
    NamedTable& table = task.tables.emplace_back();
    table.name = name ? name->as_text() : "table " + std::to_string(task.tables.size() - 1);
    read_value(field, table.table);
    if (!names.insert(table.name).second) {
      field.fail("a name of its own", et_schema::quote(table.name) + " again");
    }
  }
  if (task.tables.empty()) {
    tables.fail("a table or more", "none");
  }
  return task;
}

}  // namespace understudy::predictor
