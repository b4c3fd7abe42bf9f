#include "cli/common/own_names.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "et_schema/base/json_fields.h"
#include "et_schema/base/read_file.h"

namespace understudy::cli {
namespace {

/// Returns the names by their replacement, as texts of JSON without quotes.
std::map<std::string, std::string, std::less<>> read_names(const std::string& path) {
  const et_schema::JsonSource source{
      path, "the names cannot be read",
      "generate --obfuscate writes them beside the benchmark: vendor.et.names.json"};
  const nlohmann::json document =
      et_schema::parse_json(et_schema::read_file(path, et_schema::process_limits()), source);
  const et_schema::JsonField root(document, source);
  et_schema::check_format(root, {"file of names", "understudy-names", 1});
  std::map<std::string, std::string, std::less<>> names;
  for (const auto& [kind, rows] : root.at("names").members()) {
    for (const auto& [replacement, original] : rows.members()) {
      const std::string quoted = nlohmann::json(original.as_text()).dump();
      names.emplace(replacement, quoted.substr(1, quoted.size() - 2));
    }
  }
  return names;
}

}  // namespace

void add_names_option(CommandLine& line, std::string& path) {
  line.begin(FlagGroup::kInput);
  line.add("--names FILE", path,
           "Of an obfuscated benchmark's reports: its names.json, whose names are then shown");
}

std::string with_own_names(std::string report, const std::string& path) {
  if (path.empty()) {
    return report;
  }
  const auto names = read_names(path);
  constexpr std::string_view kWord =
      ":0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  std::string text;
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t begin = std::min(report.find_first_of(kWord, at), report.size());
    const std::size_t end = std::min(report.find_first_not_of(kWord, begin), report.size());
    const auto name = names.find(std::string_view(report).substr(begin, end - begin));
    text.append(report, at, begin - at);
    text += name == names.end() ? report.substr(begin, end - begin) : name->second;
    at = end;
  }
  return text;
}

}  // namespace understudy::cli
