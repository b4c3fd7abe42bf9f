#include "et_schema/formats/report/report_json.h"

#include <fmt/format.h>

#include "et_schema/base/json_record.h"
#include "et_schema/model/report_figures.h"

namespace understudy::et_schema {

/// Returns the version of the tool that wrote the report, if a report of another version has it.
static std::string writer_of(const JsonField& root) {
  const auto environment = root.find("environment");
  const auto version = environment ? environment->find("tool_version") : std::nullopt;
  return version ? version->as_text() : "";
}

static JsonSource source_of(const std::string& file) {
  return {file, "the report cannot be read", "make the report again with `replay --report`"};
}

/// Replaces invalid UTF-8: the machine's texts (names of host and CPU) may have any bytes.
static std::string dump(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool starts_as_report(std::string_view head) {
  return head.substr(0, kReportHeadBytes).find("\"understudy-report\"") != std::string_view::npos;
}

Report parse_report(const std::string& json, const std::string& file) {
  const JsonSource source = source_of(file);
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"report", kReportFormat, kReportVersion}, writer_of(root));
  const auto report = read_json<Report>(root);
  if (report.world_size < 1 || static_cast<std::size_t>(report.world_size) != report.ranks.size()) {
    root.at("world_size").fail(fmt::format("{}, the number of ranks listed", report.ranks.size()));
  }
  return report;
}

RankReport parse_rank_report(const std::string& json, const std::string& file) {
  const JsonSource source = source_of(file);
  const nlohmann::json document = parse_json(json, source);
  return read_json<RankReport>(JsonField(document, source));
}

nlohmann::ordered_json json_of(const Report& report) {
  JsonWriter json;
  json("format", kReportFormat);
  json("version", kReportVersion);
  members(json, report);
  return json.take();
}

std::string to_json(const Report& report) {
  return dump(json_of(report), 1) + "\n";
}

std::string to_json(const RankReport& report) {
  return dump(json_of(report), -1);
}

}  // namespace understudy::et_schema
