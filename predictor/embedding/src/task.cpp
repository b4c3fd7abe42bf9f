#include "predictor/embedding/task.h"

#include <set>

#include "et_schema/base/json_record.h"
#include "et_schema/base/quote.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

constexpr const char* kTablesFormat = "understudy-tables";
constexpr const char* kLocal = "local";
constexpr const char* kExchanged = "exchanged";

}  // namespace

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
    et_schema::read_json(*batch, task.batch, et_schema::AtLeast{1});
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
