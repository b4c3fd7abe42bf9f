#pragma once

#include <optional>

#include "et_schema/base/record.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {

inline constexpr const char* kReportFormat = "understudy-report";

// What files, texts and pages hold of a report: each figure is described once (record.h).
// docs/formats.md and docs/metrics.md describe them for readers.

/// A job's are computed from the job's samples.
void members(auto& walk, SameAs<IterationStats> auto& stats) {
  walk("min", stats.min, "fastest");
  walk("median", stats.median, "median");
  walk("p10", stats.p10, "10th percentile");
  walk("p90", stats.p90, "90th percentile");
  walk("p99", stats.p99, "99th percentile");
  walk("median_low", stats.median_low, "95 % interval of the median, from");
  walk("median_high", stats.median_high, "to");
  walk("samples", stats.samples, kLargestOfRanks, kNullIsNan);
}

void members(auto& walk, SameAs<NamedCount> auto& row) {
  walk("name", row.name, "operator");
  walk("count", row.count, "count");
  walk.if_any("note", row.note, "what instead, or why", kFreeText);
}

void members(auto& walk, SameAs<TimeShare> auto& row) {
  walk("name", row.name);
  walk("share", row.share, kNullIsNan);
}

void members(auto& walk, SameAs<DeviceTime> auto& row) {
  walk("class", row.kernel_class);
  walk("fate", row.fate);
  walk("ms", row.ms, kNullIsNan);
  walk("share", row.share, kNullIsNan);
}

/// `count`, `other_time` and `device_time` of a job: merge().
void members(auto& walk, SameAs<Coverage> auto& coverage) {
  walk("selected", coverage.selected, "operators selected", kSumOfRanks);
  walk("replayed", coverage.replayed, "replayed", kSumOfRanks);
  walk("exact", coverage.exact, "of these as recorded", kSumOfRanks);
  walk("substituted", coverage.substituted, "Substituted: others did the same work", kSumOfRanks);
  walk("stubbed", coverage.stubbed,
       "Stubbed: the same bytes in the same time, not counted as replayed", kSumOfRanks);
  walk("dropped", coverage.dropped, "Dropped", kSumOfRanks);
  walk("not_applicable", coverage.not_applicable,
       "Not applicable to this target (not among the selected)", kSumOfRanks);
  walk("pinned_outputs", coverage.pinned_outputs,
       "Pinned outputs: what follows gets tensors of the recorded shape", kSumOfRanks);
  walk("count", coverage.count, "replayed, by count", CellKind::kPercent);
  walk("time", coverage.time, "replayed, by recorded time", CellKind::kPercent, kSmallestOfRanks,
       kIfAllKnow);
  walk("substituted_time", coverage.substituted_time, "substituted, by recorded time",
       CellKind::kPercent, kLargestOfRanks, kIfAllKnow);
  walk("dropped_time", coverage.dropped_time, "dropped or stubbed, by recorded time",
       CellKind::kPercent, kLargestOfRanks, kIfAllKnow);
  walk("other_time", coverage.other_time);
  walk.if_any("device_time", coverage.device_time);
}

void members(auto& walk, SameAs<ValueHealth> auto& values) {
  walk("nan", values.nan, "tensors with NaN", kSumOfRanks);
  walk("inf", values.inf, "tensors with infinities", kSumOfRanks);
  walk("subnormal", values.subnormal, "tensors with subnormal numbers", kSumOfRanks);
  walk("recorded_inf", values.recorded_inf,
       "tensors with infinities that the trace itself writes (masks)", kSumOfRanks);
}

void members(auto& walk, SameAs<MemoryUse> auto& memory) {
  walk("peak_bytes", memory.peak_bytes, "peak of all tensors", kLargestOfRanks);
  walk("live_peak_bytes", memory.live_peak_bytes, "peak of intermediates by their lifetimes",
       kLargestOfRanks);
  walk("external_bytes", memory.external_bytes, "made before the step, touched bytes only",
       kLargestOfRanks);
}

/// Rows of equal name and class are merged over the ranks.
void members(auto& walk, SameAs<OperatorTime> auto& row) {
  walk("name", row.name, "operator");
  walk("class", row.op_class, "class");
  walk("count", row.count, "calls", kSumOfRanks);
  walk("ms", row.ms, "ms", kLargestOfRanks, kNullIsNan);
  walk("recorded_ms", row.recorded_ms, "recorded ms", kLargestOfRanks);
  walk("samples_ms", row.samples_ms, kLargestOfRanks, kNullIsNan);
  walk.unless(std::nullopt, "device_ms", row.device_ms, "device ms", kLargestOfRanks);
  walk.if_any("device_samples_ms", row.device_samples_ms, kLargestOfRanks, kNullIsNan);
  walk.unless(std::nullopt, "recorded_device_ms", row.recorded_device_ms, "recorded device ms",
              kLargestOfRanks);
  walk.if_any("counters", row.counters, kSumOfRanks, kNullIsNan);
  walk.if_any("recorded_counters", row.recorded_counters, kSumOfRanks, kNullIsNan);
}

/// What a job has of the slowest rank, or of all ranks together: report_merge.cpp.
void members(auto& walk, SameAs<CollectiveTime> auto& row) {
  walk("name", row.name, "collective");
  walk("group", row.group, "group");
  walk("group_size", row.group_size, "ranks");
  walk("count", row.count, "calls", kSumOfRanks);
  walk("bytes", row.bytes, "bytes", kLargestOfRanks);
  walk("median_us", row.median_us, "median µs");
  walk("moving_us", row.moving_us, "moving µs", "what the call took on its last rank");
  walk("waiting_us", row.waiting_us, "waiting µs", "for the last rank");
  walk("algbw_gb_per_s", row.algbw_gb_per_s, "algbw GB/s");
  walk("busbw_gb_per_s", row.busbw_gb_per_s, "busbw GB/s");
  walk("samples_us", row.samples_us, kNullIsNan);
  walk("moving_samples_us", row.moving_samples_us, kNullIsNan);
  walk.unless(std::nullopt, "exposed_us", row.exposed_us, "exposed µs",
              "that the host waited for, beside operators", kLargestOfRanks);
  walk.unless(std::nullopt, "in_flight_us", row.in_flight_us, "in flight µs",
              "from start to end, beside operators", kLargestOfRanks);
  walk.unless(std::nullopt, "arrival_us", row.arrival_us);
  walk.unless(std::nullopt, "arrival_spread_us", row.arrival_spread_us, "spread µs",
              "from the first rank's start to the last's");
  walk.unless(std::nullopt, "last_rank", row.last_rank, "last rank", CellKind::kId);
}

void members(auto& walk, SameAs<CommunicationUse> auto& communication) {
  walk("exposed_ms", communication.exposed_ms,
       "communication that the host waited for, an iteration", kLargestOfRanks);
  walk("in_flight_ms", communication.in_flight_ms, "communication from start to end, calls in sum",
       kLargestOfRanks);
  walk("overlap_share", communication.overlap_share, "share of that beside operators",
       kSmallestOfRanks);
}

void members(auto& walk, SameAs<PaceUse> auto& pace) {
  walk("mode", pace.mode, "mode");
  walk("paced", pace.paced, "operators an iteration with a recorded time of issue", kSumOfRanks);
  walk("on_time", pace.on_time, "issues that kept their gap, all iterations", kSumOfRanks);
  walk("unready", pace.unready, "not ready when their gap was over", kSumOfRanks);
  walk("late", pace.late, "behind their recorded start: what ran before was slower", kSumOfRanks);
  walk("own_threads", pace.own_threads, "recorded threads on threads of their own", kSumOfRanks);
  walk("device_waits", pace.device_waits, "recorded waits for the device between operators",
       kSumOfRanks);
  walk("error_median_us", pace.error_median_us, "after their time, median of those that kept it",
       kFarthestOfRanks);
  walk("error_p99_us", pace.error_p99_us, "after their time, 99th percentile", kFarthestOfRanks);
  walk("unready_ms", pace.unready_ms, "of those not ready in sum, an iteration", kFarthestOfRanks);
  walk("late_ms", pace.late_ms, "behind their recorded start, the mean of those that were",
       kFarthestOfRanks);
  walk("drift_median_us", pace.drift_median_us, "drift from the recorded starts, median",
       kFarthestOfRanks);
  walk("drift_p99_us", pace.drift_p99_us, "drift either way, 99th percentile", kFarthestOfRanks);
  walk("drift_end_us", pace.drift_end_us, "drift at the step's end", kFarthestOfRanks);
  walk("device_wait_recorded_ms", pace.device_wait_recorded_ms,
       "waits for the device as recorded, in sum", kFarthestOfRanks);
  walk("device_wait_ms", pace.device_wait_ms, "waits for the device here", kFarthestOfRanks);
}

void members(auto& walk, SameAs<WaitUse> auto& waits) {
  walk("joins_recorded", waits.joins_recorded, "communications joined by a recorded wait",
       kSumOfRanks);
  walk("joins_inferred", waits.joins_inferred, "joined by what first needs their result",
       kSumOfRanks);
  walk("joins_missing", waits.joins_missing, "joined by the step's end", kSumOfRanks);
  walk("streams_recorded", waits.streams_recorded, "waits of a stream for another as recorded",
       kSumOfRanks);
  walk("streams_inferred", waits.streams_inferred, "waits of a stream by the flow of data",
       kSumOfRanks);
  walk("streams_missing", waits.streams_missing,
       "recorded waits of a stream without counterpart here", kSumOfRanks);
}

void members(auto& walk, SameAs<GraphUse> auto& graphs) {
  walk("graphs", graphs.graphs, "graphs launched in an iteration", kSumOfRanks);
  walk("captured", graphs.captured, "instructions in them", kSumOfRanks);
  walk("launches_saved", graphs.launches_saved, "launches saved", kSumOfRanks);
  walk("device_share", graphs.device_share, "share of the device's time in graphs",
       kSmallestOfRanks);
  walk("prevented", graphs.prevented, "Outside of the graphs", kSumOfRanks);
}

/// Restores are not summed, since all ranks measure the same iterations.
void members(auto& walk, SameAs<MeasurementUse> auto& measurement) {
  walk("ended_by", measurement.ended_by);
  walk("until_percent", measurement.until_percent);
  walk("timing_passes", measurement.timing_passes, "timing passes", kSmallestOfRanks);
  walk("restores", measurement.restores, "resets of inputs and weights, untimed", kLargestOfRanks);
  walk("restore_every", measurement.restore_every,
       "iterations from one reset to the next; 0: never reset", kLargestOfRanks);
  walk("restore_reason", measurement.restore_reason, "why inputs and weights were reset so often",
       kFreeText);
  walk("foreign_cpus", measurement.foreign_cpus, "CPUs used by others meanwhile");
}

void members(auto& walk, SameAs<OriginalStep> auto& step) {
  walk("step_ms", step.step_ms, kLargestOfRanks);
  walk("operators_ms", step.operators_ms, kLargestOfRanks);
  walk("unprofiled_ms", step.unprofiled_ms, kLargestOfRanks);
  walk.if_any("counters", step.counters, kSumOfRanks, kNullIsNan);
  walk.if_any("doubts", step.doubts, kFreeText);
}

void members(auto& walk, SameAs<OutputMismatch> auto& mismatch) {
  walk("name", mismatch.name, "operator");
  walk("node", mismatch.node, "node", CellKind::kId);
  walk("field", mismatch.field, "field");
  walk("expected", mismatch.expected, "expected", kFreeText);
  walk("got", mismatch.got, "got", kFreeText);
}

void members(auto& walk, SameAs<ValueFinding> auto& finding) {
  walk("name", finding.name, "operator");
  walk("node", finding.node, "node", CellKind::kId);
  walk("kind", finding.kind, "kind");
  walk("iteration", finding.iteration, "after iterations");
}

void members(auto& walk, SameAs<HostLoad> auto& load) {
  walk("wall_ms", load.wall_ms, kNullIsNan);
  walk("cpus", load.cpus, kNullIsNan);
  walk("own_ms", load.own_ms, kNullIsNan);
  walk("busy_ms", load.busy_ms);
}

void members(auto& walk, SameAs<GpuState> auto& state) {
  walk("power_w", state.power_w);
  walk("power_limit_w", state.power_limit_w);
  walk("energy_j", state.energy_j);
  walk("sm_clock_mhz", state.sm_clock_mhz);
  walk("sm_clock_limit_mhz", state.sm_clock_limit_mhz);
  walk("memory_clock_mhz", state.memory_clock_mhz);
  walk("temperature_c", state.temperature_c);
  walk("throttle_reasons", state.throttle_reasons);
}

void members(auto& walk, SameAs<GpuSamples> auto& samples) {
  walk("count", samples.count);
  walk("sm_clock_min_mhz", samples.sm_clock_min_mhz);
  walk("sm_clock_mean_mhz", samples.sm_clock_mean_mhz);
  walk("sm_clock_max_mhz", samples.sm_clock_max_mhz);
  walk("memory_clock_min_mhz", samples.memory_clock_min_mhz);
  walk("memory_clock_max_mhz", samples.memory_clock_max_mhz);
  walk("power_mean_w", samples.power_mean_w);
  walk("power_max_w", samples.power_max_w);
  walk("power_is_instant", samples.power_is_instant);
  walk("energy_changes", samples.energy_changes);
  walk("throttled", samples.throttled);
}

void members(auto& walk, SameAs<GpuHealth> auto& health) {
  walk("name", health.name);
  walk("driver_version", health.driver_version);
  walk("energy_j", health.energy_j);
  walk("mean_power_w", health.mean_power_w);
  walk("window_s", health.window_s, kNullIsNan);
  walk("window_iterations", health.window_iterations);
  walk("restores", health.restores);
  walk("restore_s", health.restore_s, kNullIsNan);
  walk("restore_j", health.restore_j);
  walk("samples", health.samples);
  walk("before", health.before);
  walk("after", health.after);
  walk("warnings", health.warnings, kFreeText);
}

void members(auto& walk, SameAs<DeviceMemory> auto& memory) {
  walk("peak_bytes", memory.peak_bytes);
  walk("peak_requested_bytes", memory.peak_requested_bytes);
  walk("peak_reserved_bytes", memory.peak_reserved_bytes);
  walk("allocations", memory.allocations);
  walk("driver_allocations", memory.driver_allocations);
  walk("driver_frees", memory.driver_frees);
  walk("retries", memory.retries);
}

void members(auto& walk, SameAs<GpuUse> auto& gpu) {
  walk("memory", gpu.memory);
  walk("health", gpu.health);
  walk("no_health", gpu.no_health, kFreeText);
}

/// What a rank and a job have. A job's without a rule are the first rank's, or merge() computes
/// them.
void run_members(auto& walk, auto& figures) {
  walk("complete", figures.complete, kSmallestOfRanks);
  walk("iteration_ms", figures.iteration_ms);
  walk("coverage", figures.coverage);
  walk("output_mismatches", figures.output_mismatches,
       "outputs that differ from the recorded shape, dtype or stride", kSumOfRanks);
  walk("outputs_checked", figures.outputs_checked, "outputs checked", kSumOfRanks);
  walk("values", figures.values);
  walk("memory", figures.memory);
  walk.unless(StepWork(), "work", figures.work);
  walk("pace", figures.pace);
  walk.unless(WaitUse(), "waits", figures.waits);
  walk.unless(GraphUse(), "graphs", figures.graphs);
  walk("counters", figures.counters, kSumOfRanks, kNullIsNan);
  walk.if_any("counter_spreads", figures.counter_spreads, kSumOfRanks, kNullIsNan);
  walk.if_any("counter_sources", figures.counter_sources, kFreeText);
  walk("measurement", figures.measurement);
  walk("original", figures.original);
  walk("gap_samples_ms", figures.gap_samples_ms, kLargestOfRanks, kNullIsNan);
  walk("speed_probe_samples_ms", figures.speed_probe_samples_ms, kLargestOfRanks, kNullIsNan);
  walk("iteration_speed_probe_samples_ms", figures.iteration_speed_probe_samples_ms,
       kLargestOfRanks, kNullIsNan);
  walk("host_overhead_ns_per_operator", figures.host_overhead_ns_per_operator,
       "replayer overhead per operator, above a bare loop of the same calls", kLargestOfRanks);
  walk("host_overhead_resolution_ns", figures.host_overhead_resolution_ns,
       "resolution of this overhead: below it none is known", kLargestOfRanks);
  walk("losses", figures.losses, kSumOfRanks);
  walk("mismatches", figures.mismatches, kRowsOfRanks);
  walk("value_findings", figures.value_findings, kRowsOfRanks);
  walk("operators", figures.operators);
  walk("collectives", figures.collectives);
  walk.unless(CommunicationUse(), "communication", figures.communication);
  walk("startup_ms", figures.startup_ms, "from the start to the first iteration", kLargestOfRanks);
  walk("first_iteration_ms", figures.first_iteration_ms, "the first iteration", kLargestOfRanks);
}

void members(auto& walk, SameAs<RunFigures> auto& figures) {
  run_members(walk, figures);
}

void members(auto& walk, SameAs<RankReport> auto& report) {
  walk("rank", report.rank, "rank");
  run_members(walk, report);
  walk.unless(std::nullopt, "gpu", report.gpu);
  walk.unless(std::nullopt, "host_load", report.host_load);
}

void members(auto& walk, SameAs<MeasurementWarning> auto& warning) {
  walk("figure", warning.figure);
  walk("text", warning.text, kFreeText);
}

void members(auto& walk, SameAs<ComparedCounter> auto& row) {
  walk("name", row.name, "counter");
  walk("class", row.op_class, "class");
  walk("a", row.a, "A", kNullIsNan);
  walk("b", row.b, "B", kNullIsNan);
  walk("ratio", row.ratio, "B ÷ A", CellKind::kRatio);
  walk("verdict", row.verdict, "verdict", CellKind::kVerdict);
}

void members(auto& walk, SameAs<Environment> auto& environment) {
  walk("tool_version", environment.tool_version);
  walk("benchmark", environment.benchmark);
  walk("benchmark_hash", environment.benchmark_hash);
  walk("date_utc", environment.date_utc);
  walk("device", environment.device);
  walk("cpu_model", environment.cpu_model);
  walk("cpu_count", environment.cpu_count);
  walk("threads", environment.threads);
  walk("backend", environment.backend);
  walk("hosts", environment.hosts);
  walk("versions", environment.versions, kFreeText);
  walk("settings", environment.settings, kFreeText);
}

void members(auto& walk, SameAs<Report> auto& report) {
  walk("world_size", report.world_size);
  members(walk, report.total);
  walk("filters", report.filters, kFreeText);
  walk("warnings", report.warnings);
  walk.if_any("counters_against_original", report.counters_against_original);
  walk("ranks", report.ranks);
  walk("environment", report.environment);
}

}  // namespace understudy::et_schema
