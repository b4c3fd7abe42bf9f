#include "report_samples.h"

namespace understudy::et_schema {

RankReport sample_rank_report(int rank) {
  const double slower = 1.0 + rank;
  const auto number = static_cast<std::uint64_t>(rank);
  RankReport report;
  report.rank = rank;
  report.iteration_ms = iteration_stats({10.5 * slower, 10 * slower, 12 / slower});
  report.coverage.selected = 652;
  report.coverage.replayed = 650;
  report.coverage.exact = 640;
  report.coverage.count = 650.0 / 652.0;
  report.coverage.substituted = {{"aten::cudnn_batch_norm", 10, "aten::native_batch_norm"}};
  report.coverage.stubbed = {{"nccl:dummy", 1, "a copy of the same bytes"}};
  report.coverage.dropped = {{"my::op", 1, "no such operator; load it with --op-library"}};
  report.coverage.not_applicable = {{"aten::record_stream", 4, "no streams on the CPU"}};
  report.coverage.pinned_outputs = {{"aten::nonzero", 2, "its shape depends on values"}};
  report.output_mismatches = rank == 0 ? 1 : 0;
  report.outputs_checked = 1204;
  if (rank == 0) {
    report.mismatches = {{35, "aten::sort", "stride", "[1, 16]", "[16, 1]"}};
  }
  report.values = {0, number, 3};
  report.memory = {1610612736U + number, 1048576, 536870912};
  report.host_overhead_ns_per_operator = 120.25 + rank;
  report.host_overhead_resolution_ns = 25.5;
  report.losses = {{"aliases", 5}, {"missing_nodes", 1 + number}};
  report.pace.mode = "recorded";
  report.pace.paced = 650;
  report.pace.on_time = 1900;
  report.pace.unready = 50;
  report.pace.late = 30 + number;
  report.pace.own_threads = 1;
  report.pace.device_waits = 2;
  report.waits = {4, 3 + number, 1, 9, 2, number};
  report.graphs = {2, 60, 88 + number, 0.75, {{"aten::item", 1, "the host waits"}}};
  report.pace.error_median_us = 0.5;
  report.pace.error_p99_us = 4.0 * slower;
  report.pace.unready_ms = 0.25 * slower;
  report.pace.late_ms = 0.75;
  report.pace.drift_median_us = -12.5 * slower;
  report.pace.drift_p99_us = 80;
  report.pace.drift_end_us = rank == 0 ? 20.0 : -40.0;
  report.pace.device_wait_recorded_ms = 1.5;
  report.counters = {{"cpu_ms", 20 * slower},
                     {"involuntary_switches", 2},
                     {"major_faults", 0},
                     {"minor_faults", 1000}};
  report.counter_sources = {{"perf", "this machine has no hardware counters (ENOENT)"}};
  report.measurement = {
      "iterations", std::nullopt, 2, 1, 16, "values stay healthy for 16 iterations"};
  report.host_load = HostLoad{1000, 16, 800, 5000};
  report.original = {11.0, 8.25, 10.75};
  report.gap_samples_ms = {1.5, 2.5 * slower};
  report.speed_probe_samples_ms = {0.125, 0.25 * slower};
  report.iteration_speed_probe_samples_ms = {0.5, 0.75 * slower};
  report.operators = {{"aten::mm", "matmul", 12, 6.25 + rank, {6.0 + rank, 6.5 + rank}, 6.125},
                      {"aten::bmm", "matmul", 2, 0.75},
                      {"aten::relu", "elementwise", 20, 1.5}};
  report.collectives = {{"allreduce", "world", 3, 4194304, 8, 250.5 * slower, 16.75, 29.3125},
                        {"barrier", "world", 1, 0, 8, std::nullopt, std::nullopt, std::nullopt}};
  report.collectives[0].samples_us = {240.5 * slower, 260.5 * slower};
  report.startup_ms = 850.5;
  report.first_iteration_ms = 95.25 + rank;
  return report;
}

GpuUse sample_gpu_use() {
  GpuUse gpu;
  gpu.memory = {1, 2, 3, 4, 5, 6, 7};
  GpuHealth health;
  health.name = "A GPU";
  health.driver_version = "580.1";
  health.before = {100.5, 700, 1000, 1980, 1980, 2619, 40, {"gpu_idle"}};
  health.after = {650.25, 700, 9000, 1755, 1980, {}, 61, {"sw_power_cap"}};
  health.energy_j = 8000;
  health.mean_power_w = 640.5;
  health.window_s = 12.5;
  health.window_iterations = 40;
  health.restores = 3;
  health.restore_s = 0.25;
  health.restore_j = 60;
  health.samples = {500,
                    1500,
                    1750.5,
                    1980,
                    2619,
                    2619,
                    640,
                    700,
                    true,
                    120,
                    {{"sw_power_cap", 0.25}, {"gpu_idle", 0.5}}};
  health.warnings = {"the SM clock moved"};
  gpu.health = health;
  return gpu;
}

Report sample_report(int ranks) {
  std::vector<RankReport> reports;
  for (int rank = 0; rank < ranks; ++rank) {
    reports.push_back(sample_rank_report(rank));
  }
  Environment environment;
  environment.tool_version = "0.1.0";
  environment.benchmark = "bench.et";
  environment.benchmark_hash = "0123456789abcdef";
  environment.date_utc = "2026-01-31T12:00:00Z";
  environment.device = "cpu";
  environment.cpu_model = "A CPU, \"fast\"";
  environment.cpu_count = 16;
  environment.threads = 2;
  environment.backend = ranks == 1 ? "single" : "mpi";
  environment.hosts = {"node-1", "node-2"};
  environment.versions = {{"mpi", "Open MPI 4.1.4"}, {"torch", "2.11.0"}};
  environment.settings = {{"iterations", "3"}, {"seed", "1"}};
  return merge(std::move(reports), {"--only compute"}, std::move(environment));
}

}  // namespace understudy::et_schema
