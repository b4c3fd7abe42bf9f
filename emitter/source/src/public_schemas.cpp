#include "public_schemas.h"

#include <string>
#include <unordered_set>

#include "embedded_files.h"

namespace understudy::emitter {
namespace {

std::unordered_set<std::string_view> lines_of(std::string_view text) {
  std::unordered_set<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.insert(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

const std::unordered_set<std::string_view>& schemas() {
  static const std::unordered_set<std::string_view> kSchemas =
      lines_of(schema_files().at("public_schemas.txt"));
  return kSchemas;
}

}  // namespace

bool is_in_libtorch(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames = [] {
    std::unordered_set<std::string_view> names;
    for (const std::string_view schema : schemas()) {
      names.insert(schema.substr(0, schema.find_first_of(".(")));
    }
    return names;
  }();
  return kNames.contains(name);
}

bool is_public_schema(std::string_view schema) {
  std::string text(schema);
  for (std::size_t at = text.find("SymInt"); at != std::string::npos;
       at = text.find("SymInt", at)) {
    text.replace(at, 6, "int");
  }
  return schemas().contains(text);
}

}  // namespace understudy::emitter
