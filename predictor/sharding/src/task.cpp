#include "predictor/sharding/task.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "et_schema/support/json_fields.h"
#include "et_schema/support/quote.h"
#include "et_schema/support/version.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

constexpr const char* kFormat = "understudy-tables";
constexpr const char* kLocal = "local";
constexpr const char* kExchanged = "exchanged";

std::string_view type_name(std::int64_t item_bytes) {
  switch (item_bytes) {
    case 1:
      return "int8";
    case 2:
      return "float16";
    case 8:
      return "float64";
    default:
      return "float32";
  }
}

}  // namespace

std::string to_json(const ShardTask& task) {
  ordered_json json = {{"format", kFormat},
                       {"version", kTablesVersion},
                       {"tool_version", et_schema::kToolVersion},
                       {"batch", task.batch},
                       {"indices", task.has_local_indices ? kLocal : kExchanged},
                       {"tables", ordered_json::array()}};
  std::string text = json.dump();
  text.resize(text.size() - 2);  // a line a table
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    const auto& [name, table] = task.tables[i];
    ordered_json of_table = {{"name", name},
                             {"rows", table.rows},
                             {"dim", table.dim},
                             {"pooling", table.pooling},
                             {"dtype", type_name(table.item_bytes)}};
    if (table.state_bytes > 0) {
      of_table["state_bytes"] = table.state_bytes;
    }
    if (table.reuse) {
      of_table["reuse"] = *table.reuse;
    }
    text += (i == 0 ? "\n" : ",\n") + of_table.dump();
  }
  return text + "\n]}\n";
}

ShardTask parse_tables(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the tables cannot be read",
                                     "docs/formats.md, \"Tables\", has an example"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const JsonField root(document, source);
  if (root.find("format")) {
    const auto writer = root.find("tool_version");
    et_schema::check_format(root, {"file of tables", kFormat, kTablesVersion}, file,
                            writer ? writer->as_text() : std::string());
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
    table.table = read_table(field);
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
