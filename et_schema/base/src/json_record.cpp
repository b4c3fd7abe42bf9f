#include "et_schema/base/json_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "et_schema/base/version.h"

namespace understudy::et_schema {
namespace {

using nlohmann::ordered_json;

std::string dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void append_lines(std::string& out, const ordered_json& json, int depth) {
  if (depth == 0 || !json.is_structured() || json.empty()) {
    out += dump(json);
    return;
  }
  out += json.is_object() ? "{" : "[";
  const char* separator = "";
  for (const auto& [key, value] : json.items()) {
    out += separator;
    out += value.is_structured() ? "\n" : "";
    if (json.is_object()) {
      out += dump(key) + ":";
    }
    append_lines(out, value, depth - 1);
    separator = ",";
  }
  out += json.is_object() ? "}" : "]";
}

}  // namespace

void JsonWriter::hash(const char* key, std::uint64_t value) {
  object_[key] = fmt::format("{:016x}", value);
}

double shortest(float value) {
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

std::string dump_lines(const ordered_json& json, int depth) {
  std::string out;
  append_lines(out, json, depth);
  return out;
}

std::string json_line(const ordered_json& json) {
  return dump(json) + "\n";
}

std::string json_lines_header(const char* format, int version) {
  return json_line({{"format", format}, {"version", version}, {"tool_version", kToolVersion}});
}

void for_each_json_line(
    std::string_view text, const JsonSource& source, const DocumentFormat& format,
    const std::function<void(const JsonField& line, std::size_t number)>& take) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const JsonSource of_line{fmt::format("{}, line {}", source.file, ++number), source.summary,
                             source.hint};
    const nlohmann::json document = parse_json(text.substr(begin, end - begin), of_line);
    const JsonField line(document, of_line);
    if (number == 1) {
      check_format(line, format);
    }
    take(line, number);
    begin = end + 1;
  }
}

}  // namespace understudy::et_schema
