#include <cmath>
#include <nlohmann/json.hpp>

#include "et_schema/model/report.h"
#include "et_schema/model/report_fields.h"
#include "et_schema/report/report_json.h"
#include "report_gpu.h"

namespace understudy::et_schema {
namespace {

// Keys stand in the order of the contract.
using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) {
    list.push_back(number(value));
  }
  return list;
}

Json iteration_json(const IterationStats& stats) {
  Json json;
  json["min"] = number(stats.min);
  json["median"] = number(stats.median);
  json["p10"] = number(stats.p10);
  json["p90"] = number(stats.p90);
  json["p99"] = number(stats.p99);
  json["median_low"] = number(stats.median_low);
  json["median_high"] = number(stats.median_high);
  json["samples"] = numbers(stats.samples);
  return json;
}

Json rows_json(const Coverage& coverage, const CoverageList& list) {
  Json rows = Json::array();
  for (const NamedCount& row : coverage.*list.rows) {
    Json json;
    json["name"] = row.name;
    json["count"] = row.count;
    if (list.always_noted || !row.note.empty()) {
      json[list.note_key] = row.note;
    }
    rows.push_back(std::move(json));
  }
  return rows;
}

Json coverage_json(const Coverage& coverage) {
  Json json;
  json["count"] = number(coverage.count);
  json["time"] = number(coverage.time);
  json["substituted_time"] = number(coverage.substituted_time);
  json["dropped_time"] = number(coverage.dropped_time);
  json["selected"] = coverage.selected;
  json["replayed"] = coverage.replayed;
  json["exact"] = coverage.exact;
  for (const CoverageList& list : kCoverageLists) {
    json[list.key] = rows_json(coverage, list);
  }
  return json;
}

Json mismatches_json(const std::vector<OutputMismatch>& mismatches) {
  Json list = Json::array();
  for (const OutputMismatch& mismatch : mismatches) {
    list.push_back(Json{{"node", mismatch.node},
                        {"name", mismatch.name},
                        {"field", mismatch.field},
                        {"expected", mismatch.expected},
                        {"got", mismatch.got}});
  }
  return list;
}

Json operators_json(const std::vector<OperatorTime>& operators) {
  Json list = Json::array();
  for (const OperatorTime& row : operators) {
    list.push_back(Json{{"name", row.name},
                        {"class", row.op_class},
                        {"count", row.count},
                        {"ms", number(row.ms)},
                        {"recorded_ms", number(row.recorded_ms)},
                        {"samples_ms", numbers(row.samples_ms)}});
    if (row.device_ms) {
      list.back()["device_ms"] = number(row.device_ms);
    }
  }
  return list;
}

Json collectives_json(const std::vector<CollectiveTime>& collectives) {
  Json list = Json::array();
  for (const CollectiveTime& row : collectives) {
    list.push_back(Json{{"name", row.name},
                        {"group", row.group},
                        {"group_size", row.group_size},
                        {"count", row.count},
                        {"bytes", row.bytes},
                        {"median_us", number(row.median_us)},
                        {"algbw_gb_per_s", number(row.algbw_gb_per_s)},
                        {"busbw_gb_per_s", number(row.busbw_gb_per_s)},
                        {"samples_us", numbers(row.samples_us)},
                        {"moving_us", number(row.moving_us)},
                        {"waiting_us", number(row.waiting_us)},
                        {"moving_samples_us", numbers(row.moving_samples_us)}});
  }
  return list;
}

Json findings_json(const std::vector<ValueFinding>& findings) {
  Json list = Json::array();
  for (const ValueFinding& finding : findings) {
    list.push_back(Json{{"node", finding.node},
                        {"name", finding.name},
                        {"kind", finding.kind},
                        {"iteration", finding.iteration}});
  }
  return list;
}

Json pace_json(const PaceUse& pace) {
  Json json;
  json["mode"] = pace.mode;
  for (const auto& [key, count] : kPaceCounts) {
    json[key] = pace.*count;
  }
  for (const auto& [key, figure] : kPaceFigures) {
    json[key] = number(pace.*figure);
  }
  return json;
}

Json counters_json(const SystemCounters& counters) {
  Json json;
  for (const CounterFigure& row : kCounterFigures) {
    json[row.key] = number(counters.*row.figure);
  }
  json["hardware"] = counters.hardware;
  return json;
}

Json measurement_json(const MeasurementUse& measurement) {
  return {{"ended_by", measurement.ended_by},
          {"until_percent", number(measurement.until_percent)},
          {"timing_passes", measurement.timing_passes},
          {"restores", measurement.restores},
          {"restore_every", measurement.restore_every},
          {"restore_reason", measurement.restore_reason},
          {"foreign_cpus", number(measurement.foreign_cpus)}};
}

Json host_load_json(const HostLoad& load) {
  return {{"wall_ms", number(load.wall_ms)},
          {"cpus", number(load.cpus)},
          {"own_ms", number(load.own_ms)},
          {"busy_ms", number(load.busy_ms)}};
}

Json original_json(const OriginalStep& original) {
  return {{"step_ms", number(original.step_ms)},
          {"operators_ms", number(original.operators_ms)},
          {"unprofiled_ms", number(original.unprofiled_ms)}};
}

void add_figures(Json& json, const RankReport& report) {
  json["complete"] = report.complete;
  json["iteration_ms"] = iteration_json(report.iteration_ms);
  json["coverage"] = coverage_json(report.coverage);
  json["output_mismatches"] = report.output_mismatches;
  json["outputs_checked"] = report.outputs_checked;
  json["values"] = Json{{"nan", report.values.nan},
                        {"inf", report.values.inf},
                        {"subnormal", report.values.subnormal},
                        {"recorded_inf", report.values.recorded_inf}};
  json["memory"] = Json{{"peak_bytes", report.memory.peak_bytes},
                        {"live_peak_bytes", report.memory.live_peak_bytes},
                        {"external_bytes", report.memory.external_bytes}};
  if (report.gpu) {
    json["gpu"] = gpu_json(*report.gpu);
  }
  json["pace"] = pace_json(report.pace);
  json["counters"] = counters_json(report.counters);
  json["measurement"] = measurement_json(report.measurement);
  if (report.host_load) {
    json["host_load"] = host_load_json(*report.host_load);
  }
  json["original"] = original_json(report.original);
  json["gap_samples_ms"] = numbers(report.gap_samples_ms);
  json["speed_probe_samples_ms"] = numbers(report.speed_probe_samples_ms);
  json["iteration_speed_probe_samples_ms"] = numbers(report.iteration_speed_probe_samples_ms);
  json["host_overhead_ns_per_operator"] = number(report.host_overhead_ns_per_operator);
  json["host_overhead_resolution_ns"] = number(report.host_overhead_resolution_ns);
  json["losses"] = Json(report.losses);
  json["mismatches"] = mismatches_json(report.mismatches);
  json["value_findings"] = findings_json(report.value_findings);
  json["operators"] = operators_json(report.operators);
  json["collectives"] = collectives_json(report.collectives);
  json["startup_ms"] = number(report.startup_ms);
  json["first_iteration_ms"] = number(report.first_iteration_ms);
}

Json rank_json(const RankReport& report) {
  Json json;
  json["rank"] = report.rank;
  add_figures(json, report);
  return json;
}

Json environment_json(const Environment& environment) {
  Json json;
  json["tool_version"] = environment.tool_version;
  json["benchmark"] = environment.benchmark;
  json["benchmark_hash"] = environment.benchmark_hash;
  json["date_utc"] = environment.date_utc;
  json["device"] = environment.device;
  json["cpu_model"] = environment.cpu_model;
  json["cpu_count"] = environment.cpu_count;
  json["threads"] = environment.threads;
  json["backend"] = environment.backend;
  json["hosts"] = environment.hosts;
  json["versions"] = Json(environment.versions);
  json["settings"] = Json(environment.settings);
  return json;
}

// Texts from the machine (a host's name, a CPU's) may hold any bytes.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Report& report) {
  Json json;
  json["format"] = kReportFormat;
  json["version"] = kReportVersion;
  json["world_size"] = report.world_size;
  add_figures(json, report.total);
  json["filters"] = report.filters;
  Json& warnings = json["warnings"] = Json::array();
  for (const MeasurementWarning& warning : report.warnings) {
    warnings.push_back(Json{{"figure", warning.figure}, {"text", warning.text}});
  }
  Json& ranks = json["ranks"] = Json::array();
  for (const RankReport& rank : report.ranks) {
    ranks.push_back(rank_json(rank));
  }
  json["environment"] = environment_json(report.environment);
  return dump(json, 1) + "\n";
}

std::string to_json(const RankReport& report) {
  return dump(rank_json(report), -1);
}

}  // namespace understudy::et_schema
