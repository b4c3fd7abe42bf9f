#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "common/table.h"
#include "report_text/report_text.h"

namespace understudy::cli {
namespace {

using et_schema::RankReport;
using et_schema::Report;

// What one line is about.
struct Place {
  std::string section;
  std::string name;
  std::string detail;
};

class CsvWriter {
 public:
  std::string write(const Report& report) {
    rank_ = "all";
    value({"job", "", ""}, "world_size", std::to_string(report.world_size));
    write_figures(report.total);
    for (const std::string& filter : report.filters) {
      value({"filter", filter, ""}, "active", "1");
    }
    for (const et_schema::MeasurementWarning& warning : report.warnings) {
      value({"warning", warning.figure, ""}, "text", warning.text);
    }
    write_environment(report.environment);
    for (const RankReport& rank : report.ranks) {
      rank_ = std::to_string(rank.rank);
      write_figures(rank);
    }
    return table_.to_csv();
  }

 private:
  void write_figures(const RankReport& report) {
    write_times(report);
    write_coverage(report.coverage);
    const Place checks{"checks", "", ""};
    count(checks, "outputs_checked", report.outputs_checked);
    count(checks, "output_mismatches", report.output_mismatches);
    count(checks, "nan", report.values.nan);
    count(checks, "inf", report.values.inf);
    count(checks, "subnormal", report.values.subnormal);
    count(checks, "recorded_inf", report.values.recorded_inf);
    for (const et_schema::OutputMismatch& row : report.mismatches) {
      value({"mismatch", row.name,
             fmt::format("node {}, {}: expected {}", row.node, row.field, row.expected)},
            "got", row.got);
    }
    for (const et_schema::ValueFinding& row : report.value_findings) {
      const Place place{"value_finding", row.name, fmt::format("node {}", row.node)};
      value(place, "kind", row.kind);
      count(place, "iteration", row.iteration);
    }
    const Place memory{"memory", "", ""};
    count(memory, "peak_bytes", report.memory.peak_bytes);
    count(memory, "live_peak_bytes", report.memory.live_peak_bytes);
    count(memory, "external_bytes", report.memory.external_bytes);
    write_run(report);
    for (const auto& [name, number] : report.losses) {
      count({"loss", name, ""}, "count", number);
    }
    for (const et_schema::OperatorTime& row : report.operators) {
      const Place place{"operator", row.name, row.op_class};
      count(place, "count", row.count);
      figure(place, "ms", row.ms);
      figure(place, "recorded_ms", row.recorded_ms);
      for (std::size_t i = 0; i < row.samples_ms.size(); ++i) {
        figure({"operator_sample", row.name, std::to_string(i)}, "ms", row.samples_ms[i]);
      }
    }
    for (const et_schema::CollectiveTime& row : report.collectives) {
      write_collective(row);
    }
  }

  void write_run(const RankReport& report) {
    const Place pace{"pace", report.pace.mode, ""};
    count(pace, "paced", report.pace.paced);
    count(pace, "on_time", report.pace.on_time);
    count(pace, "late", report.pace.late);
    figure(pace, "late_ms", report.pace.late_ms);
    figure(pace, "error_median_us", report.pace.error_median_us);
    figure(pace, "error_p99_us", report.pace.error_p99_us);
    count(pace, "own_threads", report.pace.own_threads);
    const Place system{"counters", "", report.counters.hardware};
    figure(system, "cpu_ms", report.counters.cpu_ms);
    figure(system, "minor_faults", report.counters.minor_faults);
    figure(system, "major_faults", report.counters.major_faults);
    figure(system, "involuntary_switches", report.counters.involuntary_switches);
    figure(system, "instructions", report.counters.instructions);
    figure(system, "cycles", report.counters.cycles);
    figure(system, "cache_misses", report.counters.cache_misses);
    write_measurement(report);
    const Place original{"original", "", ""};
    figure(original, "step_ms", report.original.step_ms);
    figure(original, "operators_ms", report.original.operators_ms);
    figure(original, "unprofiled_ms", report.original.unprofiled_ms);
    write_samples("gap_sample", report.gap_samples_ms);
    write_samples("yardstick_sample", report.yardstick_samples_ms);
    write_samples("iteration_yardstick_sample", report.iteration_yardstick_samples_ms);
  }

  void write_measurement(const RankReport& report) {
    const et_schema::MeasurementUse& use = report.measurement;
    const Place place{"measurement", "", ""};
    value(place, "complete", report.complete ? "1" : "0");
    value(place, "ended_by", use.ended_by);
    figure(place, "until_percent", use.until_percent);
    count(place, "timing_passes", use.timing_passes);
    count(place, "restores", use.restores);
    count(place, "restore_every", use.restore_every);
    value(place, "restore_reason", use.restore_reason);
    figure(place, "foreign_cpus", use.foreign_cpus);
    if (report.host_load) {
      const Place host{"host_load", "", ""};
      figure(host, "wall_ms", report.host_load->wall_ms);
      figure(host, "cpus", report.host_load->cpus);
      figure(host, "own_ms", report.host_load->own_ms);
      figure(host, "busy_ms", report.host_load->busy_ms);
    }
  }

  void write_samples(const char* kind, const std::vector<double>& samples_ms) {
    for (std::size_t i = 0; i < samples_ms.size(); ++i) {
      figure({kind, std::to_string(i), ""}, "ms", samples_ms[i]);
    }
  }

  void write_times(const RankReport& report) {
    const et_schema::IterationStats& stats = report.iteration_ms;
    const Place iteration{"iteration", "", ""};
    figure(iteration, "min_ms", stats.min);
    figure(iteration, "p10_ms", stats.p10);
    figure(iteration, "median_ms", stats.median);
    figure(iteration, "median_low_ms", stats.median_low);
    figure(iteration, "median_high_ms", stats.median_high);
    figure(iteration, "p90_ms", stats.p90);
    figure(iteration, "p99_ms", stats.p99);
    for (std::size_t i = 0; i < stats.samples.size(); ++i) {
      figure({"sample", std::to_string(i), ""}, "ms", stats.samples[i]);
    }
    const Place overhead{"overhead", "", ""};
    figure(overhead, "host_overhead_ns_per_operator", report.host_overhead_ns_per_operator);
    figure(overhead, "startup_ms", report.startup_ms);
    figure(overhead, "first_iteration_ms", report.first_iteration_ms);
  }

  void write_coverage(const et_schema::Coverage& coverage) {
    const Place place{"coverage", "", ""};
    figure(place, "by_count", coverage.count);
    figure(place, "by_time", coverage.time);
    figure(place, "substituted_by_time", coverage.substituted_time);
    figure(place, "dropped_by_time", coverage.dropped_time);
    count(place, "selected", coverage.selected);
    count(place, "replayed", coverage.replayed);
    count(place, "exact", coverage.exact);
    write_rows("substituted", coverage.substituted);
    write_rows("stubbed", coverage.stubbed);
    write_rows("dropped", coverage.dropped);
    write_rows("not_applicable", coverage.not_applicable);
    write_rows("pinned_outputs", coverage.pinned_outputs);
  }

  void write_rows(const std::string& section, const std::vector<et_schema::NamedCount>& rows) {
    for (const et_schema::NamedCount& row : rows) {
      count({section, row.name, row.note}, "count", row.count);
    }
  }

  void write_collective(const et_schema::CollectiveTime& row) {
    const Place place{
        "collective", row.name,
        fmt::format("group {} of {}, {} bytes", row.group, row.group_size, row.bytes)};
    count(place, "count", row.count);
    count(place, "bytes", row.bytes);
    figure(place, "median_us", row.median_us);
    figure(place, "moving_us", row.moving_us);
    figure(place, "waiting_us", row.waiting_us);
    figure(place, "algbw_gb_per_s", row.algbw_gb_per_s);
    figure(place, "busbw_gb_per_s", row.busbw_gb_per_s);
  }

  void write_environment(const et_schema::Environment& environment) {
    const auto add = [this](const std::string& name, const std::string& text) {
      value({"environment", name, ""}, "value", text);
    };
    add("tool_version", environment.tool_version);
    add("benchmark", environment.benchmark);
    add("date_utc", environment.date_utc);
    add("device", environment.device);
    add("cpu_model", environment.cpu_model);
    add("cpu_count", std::to_string(environment.cpu_count));
    add("threads", std::to_string(environment.threads));
    add("backend", environment.backend);
    for (const std::string& host : environment.hosts) {
      add("host", host);
    }
    for (const auto& [name, version] : environment.versions) {
      value({"version", name, ""}, "value", version);
    }
    for (const auto& [name, setting] : environment.settings) {
      value({"setting", name, ""}, "value", setting);
    }
  }

  void count(const Place& place, std::string_view metric, std::uint64_t number) {
    value(place, metric, std::to_string(number));
  }
  void figure(const Place& place, std::string_view metric, const std::optional<double>& number) {
    value(place, metric, number && std::isfinite(*number) ? fmt::format("{}", *number) : "");
  }

  void value(const Place& place, std::string_view metric, std::string_view text) {
    table_.add(
        {rank_, place.section, place.name, place.detail, std::string(metric), std::string(text)});
  }

  TextTable table_{{{"rank"}, {"section"}, {"name"}, {"detail"}, {"metric"}, {"value"}}};
  std::string rank_;
};

}  // namespace

std::string report_to_csv(const Report& report) {
  return CsvWriter().write(report);
}

}  // namespace understudy::cli
