#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "et_schema/model/report.h"
#include "et_schema/model/report_fields.h"
#include "et_schema/report/report_json.h"
#include "et_schema/support/json_fields.h"
#include "report_gpu.h"

namespace understudy::et_schema {
namespace {

// A figure that was not finite is null in the file.
double number(const JsonField& field) {
  return field.as_double_or_null().value_or(std::numeric_limits<double>::quiet_NaN());
}

JsonSource source_of(const std::string& file) {
  return {file, "the report cannot be read", "make the report again with `replay --report`"};
}

std::vector<double> numbers(const JsonField& field) {
  std::vector<double> values;
  for (const JsonField& item : field.items()) {
    values.push_back(number(item));
  }
  return values;
}

std::optional<double> number_if_there(const JsonField& field, const char* key) {
  const auto value = field.find(key);
  return value ? value->as_double_or_null() : std::nullopt;
}

template <typename Part, typename Rows>
void read_rows(const JsonField& field, Part& part, const Rows& rows) {
  for (const auto& row : rows) {
    if constexpr (std::is_same_v<decltype(row.value), std::uint64_t Part::*>) {
      part.*row.value = field.at(row.key).as_uint();
    } else {
      part.*row.value = field.at(row.key).as_double_or_null();
    }
  }
}

IterationStats read_iteration(const JsonField& field) {
  IterationStats stats;
  read_rows(field, stats, kIterationFigures);
  stats.samples = numbers(field.at("samples"));
  return stats;
}

Coverage read_coverage(const JsonField& field) {
  Coverage coverage;
  coverage.count = field.at("count").as_double_or_null();
  coverage.time = field.at("time").as_double_or_null();
  coverage.substituted_time = field.at("substituted_time").as_double_or_null();
  coverage.dropped_time = field.at("dropped_time").as_double_or_null();
  for (const JsonField& row : field.at("other_time").items()) {
    coverage.other_time.push_back({row.at("name").as_text(), number(row.at("share"))});
  }
  coverage.selected = field.at("selected").as_uint();
  coverage.replayed = field.at("replayed").as_uint();
  coverage.exact = field.at("exact").as_uint();
  for (const CoverageList& list : kCoverageLists) {
    for (const JsonField& row : field.at(list.key).items()) {
      const bool is_noted = list.always_noted || row.find(list.note_key);
      (coverage.*list.rows)
          .push_back({row.at("name").as_text(), row.at("count").as_uint(),
                      is_noted ? row.at(list.note_key).as_free_text() : ""});
    }
  }
  return coverage;
}

std::vector<OutputMismatch> read_mismatches(const JsonField& field) {
  std::vector<OutputMismatch> mismatches;
  for (const JsonField& item : field.items()) {
    mismatches.push_back({item.at("node").as_uint(), item.at("name").as_text(),
                          item.at("field").as_text(), item.at("expected").as_free_text(),
                          item.at("got").as_free_text()});
  }
  return mismatches;
}

std::vector<OperatorTime> read_operators(const JsonField& field) {
  std::vector<OperatorTime> operators;
  for (const JsonField& item : field.items()) {
    OperatorTime row;
    row.name = item.at("name").as_text();
    row.op_class = item.at("class").as_text();
    row.count = item.at("count").as_uint();
    row.ms = number(item.at("ms"));
    row.samples_ms = numbers(item.at("samples_ms"));
    row.recorded_ms = item.at("recorded_ms").as_double_or_null();
    row.device_ms = number_if_there(item, "device_ms");
    if (row.device_ms) {
      row.device_samples_ms = numbers(item.at("device_samples_ms"));
    }
    row.recorded_device_ms = number_if_there(item, "recorded_device_ms");
    operators.push_back(std::move(row));
  }
  return operators;
}

std::vector<CollectiveTime> read_collectives(const JsonField& field) {
  std::vector<CollectiveTime> collectives;
  for (const JsonField& item : field.items()) {
    CollectiveTime row;
    row.name = item.at("name").as_text();
    row.group = item.at("group").as_text();
    row.group_size = item.at("group_size").as_int32();
    row.count = item.at("count").as_uint();
    row.bytes = item.at("bytes").as_uint();
    row.median_us = item.at("median_us").as_double_or_null();
    row.algbw_gb_per_s = item.at("algbw_gb_per_s").as_double_or_null();
    row.busbw_gb_per_s = item.at("busbw_gb_per_s").as_double_or_null();
    row.samples_us = numbers(item.at("samples_us"));
    row.moving_us = item.at("moving_us").as_double_or_null();
    row.waiting_us = item.at("waiting_us").as_double_or_null();
    row.moving_samples_us = numbers(item.at("moving_samples_us"));
    collectives.push_back(std::move(row));
  }
  return collectives;
}

std::vector<ValueFinding> read_findings(const JsonField& field) {
  std::vector<ValueFinding> findings;
  for (const JsonField& item : field.items()) {
    findings.push_back({item.at("node").as_uint(), item.at("name").as_text(),
                        item.at("kind").as_text(), item.at("iteration").as_uint()});
  }
  return findings;
}

PaceUse read_pace(const JsonField& field) {
  PaceUse pace;
  pace.mode = field.at("mode").as_text();
  read_rows(field, pace, kPaceCounts);
  read_rows(field, pace, kPaceFigures);
  return pace;
}

SystemCounters read_counters(const JsonField& field) {
  SystemCounters counters;
  read_rows(field, counters, kCounterFigures);
  counters.hardware = field.at("hardware").as_free_text();
  return counters;
}

MeasurementUse read_measurement(const JsonField& field) {
  MeasurementUse measurement;
  measurement.ended_by = field.at("ended_by").as_text();
  measurement.until_percent = field.at("until_percent").as_double_or_null();
  read_rows(field, measurement, kMeasurementCounts);
  measurement.restore_reason = field.at("restore_reason").as_free_text();
  measurement.foreign_cpus = field.at("foreign_cpus").as_double_or_null();
  return measurement;
}

HostLoad read_host_load(const JsonField& field) {
  return {number(field.at("wall_ms")), number(field.at("cpus")), number(field.at("own_ms")),
          field.at("busy_ms").as_double_or_null()};
}

void read_figures(const JsonField& field, RunFigures& report) {
  report.complete = field.at("complete").as_bool();
  report.iteration_ms = read_iteration(field.at("iteration_ms"));
  report.coverage = read_coverage(field.at("coverage"));
  read_rows(field, report, kOutputCounts);
  read_rows(field.at("values"), report.values, kValueCounts);
  read_rows(field.at("memory"), report.memory, kMemoryCounts);
  report.pace = read_pace(field.at("pace"));
  report.counters = read_counters(field.at("counters"));
  report.measurement = read_measurement(field.at("measurement"));
  read_rows(field.at("original"), report.original, kOriginalFigures);
  report.gap_samples_ms = numbers(field.at("gap_samples_ms"));
  report.speed_probe_samples_ms = numbers(field.at("speed_probe_samples_ms"));
  report.iteration_speed_probe_samples_ms = numbers(field.at("iteration_speed_probe_samples_ms"));
  read_rows(field, report, kOverheadFigures);
  for (const auto& [name, count] : field.at("losses").members()) {
    report.losses[name] = count.as_uint();
  }
  report.mismatches = read_mismatches(field.at("mismatches"));
  report.value_findings = read_findings(field.at("value_findings"));
  report.operators = read_operators(field.at("operators"));
  report.collectives = read_collectives(field.at("collectives"));
  read_rows(field, report, kStartFigures);
}

RankReport read_rank(const JsonField& field) {
  RankReport report;
  report.rank = field.at("rank").as_int32();
  read_figures(field, report);
  if (const auto gpu = field.find("gpu")) {
    report.gpu = read_gpu(*gpu);
  }
  if (const auto load = field.find("host_load")) {
    report.host_load = read_host_load(*load);
  }
  return report;
}

std::map<std::string, std::string> read_texts(const JsonField& field) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : field.members()) {
    texts[key] = value.as_free_text();
  }
  return texts;
}

Environment read_environment(const JsonField& field) {
  Environment environment;
  environment.tool_version = field.at("tool_version").as_text();
  environment.benchmark = field.at("benchmark").as_text();
  environment.benchmark_hash = field.at("benchmark_hash").as_text();
  environment.date_utc = field.at("date_utc").as_text();
  environment.device = field.at("device").as_text();
  environment.cpu_model = field.at("cpu_model").as_text();
  environment.cpu_count = field.at("cpu_count").as_int32();
  environment.threads = field.at("threads").as_int32();
  environment.backend = field.at("backend").as_text();
  environment.hosts = field.at("hosts").as_texts();
  environment.versions = read_texts(field.at("versions"));
  environment.settings = read_texts(field.at("settings"));
  return environment;
}

// The tool that wrote the report, as far as a report of another version still tells.
std::string writer_of(const JsonField& root) {
  const auto environment = root.find("environment");
  const auto version = environment ? environment->find("tool_version") : std::nullopt;
  return version ? version->as_text() : "";
}

}  // namespace

Report parse_report(const std::string& json, const std::string& file) {
  const JsonSource source = source_of(file);
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"report", kReportFormat, kReportVersion}, writer_of(root));
  Report report;
  report.world_size = root.at("world_size").as_int32();
  read_figures(root, report.total);
  report.filters = root.at("filters").as_free_texts();
  for (const JsonField& warning : root.at("warnings").items()) {
    report.warnings.push_back({warning.at("figure").as_text(), warning.at("text").as_free_text()});
  }
  for (const JsonField& rank : root.at("ranks").items()) {
    report.ranks.push_back(read_rank(rank));
  }
  if (report.world_size < 1 || static_cast<std::size_t>(report.world_size) != report.ranks.size()) {
    root.at("world_size").fail(fmt::format("{}, the number of ranks listed", report.ranks.size()));
  }
  report.environment = read_environment(root.at("environment"));
  return report;
}

RankReport parse_rank_report(const std::string& json, const std::string& file) {
  const JsonSource source = source_of(file);
  const nlohmann::json document = parse_json(json, source);
  return read_rank(JsonField(document, source));
}

}  // namespace understudy::et_schema
