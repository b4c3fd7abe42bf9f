#include "et_schema/formats/report/report_json.h"

#include <fmt/format.h>

#include "et_schema/base/json_record.h"
#include "et_schema/model/report_fields.h"

namespace understudy::et_schema {

/// The counts or figures of a part, listed in report_fields.h.
static void rows(auto& json, auto& part, const auto& table) {
  for (const auto& row : table) {
    json(row.key, part.*row.value);
  }
}

void members(auto& json, SameAs<IterationStats> auto& stats) {
  rows(json, stats, kIterationFigures);
  json("samples", stats.samples, kNullIsNan);
}

void members(auto& json, SameAs<TimeShare> auto& row) {
  json("name", row.name);
  json("share", row.share, kNullIsNan);
}

void members(auto& json, SameAs<DeviceTime> auto& row) {
  json("class", row.kernel_class);
  json("fate", row.fate);
  json("ms", row.ms, kNullIsNan);
  json("share", row.share, kNullIsNan);
}

void members(auto& json, SameAs<Coverage> auto& coverage) {
  json("count", coverage.count);
  json("time", coverage.time);
  json("substituted_time", coverage.substituted_time);
  json("dropped_time", coverage.dropped_time);
  json("other_time", coverage.other_time);
  json.if_any("device_time", coverage.device_time);
  json("selected", coverage.selected);
  json("replayed", coverage.replayed);
  json("exact", coverage.exact);
  for (const CoverageList& list : kCoverageLists) {
    json.list(list.key, coverage.*list.rows, [&list](auto& inner, auto& row) {
      inner("name", row.name);
      inner("count", row.count);
      if (list.always_noted) {
        inner(list.note_key, row.note, kFreeText);
      } else {
        inner.if_any(list.note_key, row.note, kFreeText);
      }
    });
  }
}

void members(auto& json, SameAs<OutputMismatch> auto& mismatch) {
  json("node", mismatch.node);
  json("name", mismatch.name);
  json("field", mismatch.field);
  json("expected", mismatch.expected, kFreeText);
  json("got", mismatch.got, kFreeText);
}

void members(auto& json, SameAs<OperatorTime> auto& row) {
  json("name", row.name);
  json("class", row.op_class);
  json("count", row.count);
  json("ms", row.ms, kNullIsNan);
  json("recorded_ms", row.recorded_ms);
  json("samples_ms", row.samples_ms, kNullIsNan);
  json.unless(std::nullopt, "device_ms", row.device_ms);
  if (row.device_ms) {
    json("device_samples_ms", row.device_samples_ms, kNullIsNan);
  }
  json.unless(std::nullopt, "recorded_device_ms", row.recorded_device_ms);
  json.if_any("counters", row.counters, kNullIsNan);
  json.if_any("recorded_counters", row.recorded_counters, kNullIsNan);
}

void members(auto& json, SameAs<CollectiveTime> auto& row) {
  json("name", row.name);
  json("group", row.group);
  json("group_size", row.group_size);
  json("count", row.count);
  json("bytes", row.bytes);
  json("median_us", row.median_us);
  json("algbw_gb_per_s", row.algbw_gb_per_s);
  json("busbw_gb_per_s", row.busbw_gb_per_s);
  json("samples_us", row.samples_us, kNullIsNan);
  json("moving_us", row.moving_us);
  json("waiting_us", row.waiting_us);
  json("moving_samples_us", row.moving_samples_us, kNullIsNan);
  json.unless(std::nullopt, "exposed_us", row.exposed_us);
  json.unless(std::nullopt, "in_flight_us", row.in_flight_us);
  json.unless(std::nullopt, "arrival_us", row.arrival_us);
  json.unless(std::nullopt, "arrival_spread_us", row.arrival_spread_us);
  json.unless(std::nullopt, "last_rank", row.last_rank);
}

void members(auto& json, SameAs<CommunicationUse> auto& communication) {
  rows(json, communication, kCommunicationFigures);
}

void members(auto& json, SameAs<ValueFinding> auto& finding) {
  json("node", finding.node);
  json("name", finding.name);
  json("kind", finding.kind);
  json("iteration", finding.iteration);
}

void members(auto& json, SameAs<ValueHealth> auto& values) {
  rows(json, values, kValueCounts);
}

void members(auto& json, SameAs<MemoryUse> auto& memory) {
  rows(json, memory, kMemoryCounts);
}

void members(auto& json, SameAs<OriginalStep> auto& step) {
  rows(json, step, kOriginalFigures);
  json.if_any("counters", step.counters, kNullIsNan);
}

void members(auto& json, SameAs<PaceUse> auto& pace) {
  json("mode", pace.mode);
  rows(json, pace, kPaceCounts);
  rows(json, pace, kPaceFigures);
}

void members(auto& json, SameAs<WaitUse> auto& waits) {
  rows(json, waits, kWaitCounts);
}

void members(auto& json, SameAs<GraphUse> auto& graphs) {
  rows(json, graphs, kGraphCounts);
  rows(json, graphs, kGraphFigures);
  json.list("prevented", graphs.prevented, [](auto& inner, auto& row) {
    inner("name", row.name);
    inner("count", row.count);
    inner("reason", row.note, kFreeText);
  });
}

void members(auto& json, SameAs<MeasurementUse> auto& measurement) {
  json("ended_by", measurement.ended_by);
  json("until_percent", measurement.until_percent);
  rows(json, measurement, kMeasurementCounts);
  json("restore_reason", measurement.restore_reason, kFreeText);
  json("foreign_cpus", measurement.foreign_cpus);
}

void members(auto& json, SameAs<HostLoad> auto& load) {
  json("wall_ms", load.wall_ms, kNullIsNan);
  json("cpus", load.cpus, kNullIsNan);
  json("own_ms", load.own_ms, kNullIsNan);
  json("busy_ms", load.busy_ms);
}

void members(auto& json, SameAs<GpuState> auto& state) {
  json("power_w", state.power_w);
  json("power_limit_w", state.power_limit_w);
  json("energy_j", state.energy_j);
  json("sm_clock_mhz", state.sm_clock_mhz);
  json("sm_clock_limit_mhz", state.sm_clock_limit_mhz);
  json("memory_clock_mhz", state.memory_clock_mhz);
  json("temperature_c", state.temperature_c);
  json("throttle_reasons", state.throttle_reasons);
}

void members(auto& json, SameAs<GpuSamples> auto& samples) {
  json("count", samples.count);
  json("sm_clock_min_mhz", samples.sm_clock_min_mhz);
  json("sm_clock_mean_mhz", samples.sm_clock_mean_mhz);
  json("sm_clock_max_mhz", samples.sm_clock_max_mhz);
  json("memory_clock_min_mhz", samples.memory_clock_min_mhz);
  json("memory_clock_max_mhz", samples.memory_clock_max_mhz);
  json("power_mean_w", samples.power_mean_w);
  json("power_max_w", samples.power_max_w);
  json("power_is_instant", samples.power_is_instant);
  json("energy_changes", samples.energy_changes);
  json("throttled", samples.throttled);
}

void members(auto& json, SameAs<GpuHealth> auto& health) {
  json("name", health.name);
  json("driver_version", health.driver_version);
  json("energy_j", health.energy_j);
  json("mean_power_w", health.mean_power_w);
  json("window_s", health.window_s, kNullIsNan);
  json("window_iterations", health.window_iterations);
  json("restores", health.restores);
  json("restore_s", health.restore_s, kNullIsNan);
  json("restore_j", health.restore_j);
  json("samples", health.samples);
  json("before", health.before);
  json("after", health.after);
  json("warnings", health.warnings, kFreeText);
}

void members(auto& json, SameAs<DeviceMemory> auto& memory) {
  json("peak_bytes", memory.peak_bytes);
  json("peak_requested_bytes", memory.peak_requested_bytes);
  json("peak_reserved_bytes", memory.peak_reserved_bytes);
  json("allocations", memory.allocations);
  json("driver_allocations", memory.driver_allocations);
  json("driver_frees", memory.driver_frees);
  json("retries", memory.retries);
}

void members(auto& json, SameAs<GpuUse> auto& gpu) {
  json("memory", gpu.memory);
  json("health", gpu.health);
  json("no_health", gpu.no_health, kFreeText);
}

/// The figures of a rank or a whole job, in the order of docs/formats.md.
static void figure_members(auto& json, auto& figures) {
  constexpr bool kOfRank = requires {
    figures.gpu;
  };
  json("complete", figures.complete);
  json("iteration_ms", figures.iteration_ms);
  json("coverage", figures.coverage);
  rows(json, figures, kOutputCounts);
  json("values", figures.values);
  json("memory", figures.memory);
  if constexpr (kOfRank) {
    json.unless(std::nullopt, "gpu", figures.gpu);
  }
  json("pace", figures.pace);
  json.unless(WaitUse(), "waits", figures.waits);
  json.unless(GraphUse(), "graphs", figures.graphs);
  json("counters", figures.counters, kNullIsNan);
  json.if_any("counter_spreads", figures.counter_spreads, kNullIsNan);
  json.if_any("counter_sources", figures.counter_sources, kFreeText);
  json("measurement", figures.measurement);
  if constexpr (kOfRank) {
    json.unless(std::nullopt, "host_load", figures.host_load);
  }
  json("original", figures.original);
  json("gap_samples_ms", figures.gap_samples_ms, kNullIsNan);
  json("speed_probe_samples_ms", figures.speed_probe_samples_ms, kNullIsNan);
  json("iteration_speed_probe_samples_ms", figures.iteration_speed_probe_samples_ms, kNullIsNan);
  rows(json, figures, kOverheadFigures);
  json("losses", figures.losses);
  json("mismatches", figures.mismatches);
  json("value_findings", figures.value_findings);
  json("operators", figures.operators);
  json("collectives", figures.collectives);
  json.unless(CommunicationUse(), "communication", figures.communication);
  rows(json, figures, kStartFigures);
}

void members(auto& json, SameAs<RankReport> auto& report) {
  json("rank", report.rank);
  figure_members(json, report);
}

void members(auto& json, SameAs<MeasurementWarning> auto& warning) {
  json("figure", warning.figure);
  json("text", warning.text, kFreeText);
}

void members(auto& json, SameAs<ComparedCounter> auto& row) {
  json("name", row.name);
  json("class", row.op_class);
  json("original", row.a, kNullIsNan);
  json("replay", row.b, kNullIsNan);
  json("ratio", row.ratio);
  json("verdict", row.verdict);
}

void members(auto& json, SameAs<Environment> auto& environment) {
  json("tool_version", environment.tool_version);
  json("benchmark", environment.benchmark);
  json("benchmark_hash", environment.benchmark_hash);
  json("date_utc", environment.date_utc);
  json("device", environment.device);
  json("cpu_model", environment.cpu_model);
  json("cpu_count", environment.cpu_count);
  json("threads", environment.threads);
  json("backend", environment.backend);
  json("hosts", environment.hosts);
  json("versions", environment.versions, kFreeText);
  json("settings", environment.settings, kFreeText);
}

/// The report except for format and version.
static void report_members(auto& json, auto& report) {
  json("world_size", report.world_size);
  figure_members(json, report.total);
  json("filters", report.filters, kFreeText);
  json("warnings", report.warnings);
  json.if_any("counters_against_original", report.counters_against_original);
  json("ranks", report.ranks);
  json("environment", report.environment);
}

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
  Report report;
  JsonReader reader(root);
  report_members(reader, report);
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
  report_members(json, report);
  return json.take();
}

std::string to_json(const Report& report) {
  return dump(json_of(report), 1) + "\n";
}

std::string to_json(const RankReport& report) {
  return dump(json_of(report), -1);
}

}  // namespace understudy::et_schema
