#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

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

template <typename Part, typename Rows>
void add_rows(Json& json, const Part& part, const Rows& rows) {
  for (const auto& row : rows) {
    if constexpr (std::is_same_v<decltype(row.value), std::uint64_t Part::*>) {
      json[row.key] = part.*row.value;
    } else {
      json[row.key] = number(part.*row.value);
    }
  }
}

template <typename Part, typename Rows>
Json rows_of(const Part& part, const Rows& rows) {
  Json json;
  add_rows(json, part, rows);
  return json;
}

Json iteration_json(const IterationStats& stats) {
  Json json;
  add_rows(json, stats, kIterationFigures);
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
  json["other_time"] = Json::array();
  for (const TimeShare& row : coverage.other_time) {
    json["other_time"].push_back(Json{{"name", row.name}, {"share", number(row.share)}});
  }
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
      list.back()["device_samples_ms"] = numbers(row.device_samples_ms);
    }
    if (row.recorded_device_ms) {
      list.back()["recorded_device_ms"] = number(row.recorded_device_ms);
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
  add_rows(json, pace, kPaceCounts);
  add_rows(json, pace, kPaceFigures);
  return json;
}

Json counters_json(const SystemCounters& counters) {
  Json json = rows_of(counters, kCounterFigures);
  json["hardware"] = counters.hardware;
  return json;
}

Json measurement_json(const MeasurementUse& measurement) {
  Json json;
  json["ended_by"] = measurement.ended_by;
  json["until_percent"] = number(measurement.until_percent);
  add_rows(json, measurement, kMeasurementCounts);
  json["restore_reason"] = measurement.restore_reason;
  json["foreign_cpus"] = number(measurement.foreign_cpus);
  return json;
}

Json host_load_json(const HostLoad& load) {
  return {{"wall_ms", number(load.wall_ms)},
          {"cpus", number(load.cpus)},
          {"own_ms", number(load.own_ms)},
          {"busy_ms", number(load.busy_ms)}};
}

/// `rank`: whose figures they are; null of a whole job.
void add_figures(Json& json, const RunFigures& figures, const RankReport* rank) {
  json["complete"] = figures.complete;
  json["iteration_ms"] = iteration_json(figures.iteration_ms);
  json["coverage"] = coverage_json(figures.coverage);
  add_rows(json, figures, kOutputCounts);
  json["values"] = rows_of(figures.values, kValueCounts);
  json["memory"] = rows_of(figures.memory, kMemoryCounts);
  if (rank != nullptr && rank->gpu) {
    json["gpu"] = gpu_json(*rank->gpu);
  }
  json["pace"] = pace_json(figures.pace);
  json["counters"] = counters_json(figures.counters);
  json["measurement"] = measurement_json(figures.measurement);
  if (rank != nullptr && rank->host_load) {
    json["host_load"] = host_load_json(*rank->host_load);
  }
  json["original"] = rows_of(figures.original, kOriginalFigures);
  json["gap_samples_ms"] = numbers(figures.gap_samples_ms);
  json["speed_probe_samples_ms"] = numbers(figures.speed_probe_samples_ms);
  json["iteration_speed_probe_samples_ms"] = numbers(figures.iteration_speed_probe_samples_ms);
  add_rows(json, figures, kOverheadFigures);
  json["losses"] = Json(figures.losses);
  json["mismatches"] = mismatches_json(figures.mismatches);
  json["value_findings"] = findings_json(figures.value_findings);
  json["operators"] = operators_json(figures.operators);
  json["collectives"] = collectives_json(figures.collectives);
  add_rows(json, figures, kStartFigures);
}

Json rank_json(const RankReport& report) {
  Json json;
  json["rank"] = report.rank;
  add_figures(json, report, &report);
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

Json json_of(const Report& report) {
  Json json;
  json["format"] = kReportFormat;
  json["version"] = kReportVersion;
  json["world_size"] = report.world_size;
  add_figures(json, report.total, nullptr);
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
  return json;
}

std::string to_json(const Report& report) {
  return dump(json_of(report), 1) + "\n";
}

std::string to_json(const RankReport& report) {
  return dump(rank_json(report), -1);
}

}  // namespace understudy::et_schema
