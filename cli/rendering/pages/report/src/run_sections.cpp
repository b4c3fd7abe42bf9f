#include <fmt/format.h>

#include <array>

#include "et_schema/model/report_fields.h"
#include "parts.h"

namespace understudy::pages {
namespace {

using et_schema::RankReport;
using et_schema::Report;

/// What a figure of the pace is, and its unit.
struct PaceText {
  std::string_view key;
  std::string_view text;
  std::string_view unit;
};
constexpr std::array<PaceText, 18> kPaceTexts = {{
    {"paced", "operators an iteration with a recorded time of issue", ""},
    {"on_time", "issues that kept their gap, all iterations", ""},
    {"unready", "not ready when their gap was over", ""},
    {"late", "behind their recorded start: what ran before was slower", ""},
    {"own_threads", "recorded threads on threads of their own", ""},
    {"device_waits", "recorded waits for the device between operators", ""},
    {"error_median_us", "after their time, median of those that kept it", "µs"},
    {"error_p99_us", "after their time, 99th percentile", "µs"},
    {"unready_ms", "of those not ready in sum, an iteration", "ms"},
    {"late_ms", "behind their recorded start, the mean of those that were", "ms"},
    {"drift_median_us", "drift from the recorded starts, median", "µs"},
    {"drift_p99_us", "drift either way, 99th percentile", "µs"},
    {"drift_end_us", "drift at the step's end", "µs"},
    {"device_wait_recorded_ms", "waits for the device as recorded, in sum", "ms"},
    {"device_wait_ms", "waits for the device here", "ms"},
    {"recorded_probe_us", "the host probe beside the original's steps", "µs"},
    {"probe_us", "the host probe beside the iterations, median", "µs"},
    {"gap_factor", "times the recorded gaps", ""},
}};

PaceText text_of(std::string_view key) {
  for (const PaceText& row : kPaceTexts) {
    if (row.key == key) {
      return row;
    }
  }
  return {key, key, ""};
}

/// "1980 → 1755".
std::string before_after(const std::optional<double>& before, const std::optional<double>& after) {
  return fmt::format("{} → {}", cell_text(cell_of(before), CellKind::kFigure),
                     cell_text(cell_of(after), CellKind::kFigure));
}

}  // namespace

Section memory_section(const Report& report) {
  const et_schema::MemoryUse& memory = report.total.memory;
  Markup body = facts_markup(
      {{"peak of all tensors", shown("/memory/peak_bytes", memory.peak_bytes, CellKind::kBytes)},
       {"peak of intermediates by their lifetimes",
        shown("/memory/live_peak_bytes", memory.live_peak_bytes, CellKind::kBytes)},
       {"made before the run, as far as touched",
        shown("/memory/external_bytes", memory.external_bytes, CellKind::kBytes)}});
  body += element("p", {{"class", "note"}},
                  "A report has peaks alone; inspect BENCH --memory --format html draws the live "
                  "tensors over the step.");
  return {"memory", report.world_size > 1 ? "Memory (the largest rank)" : "Memory", body};
}

Section gpu_section(const Report& report) {
  Table table{.id = "gpu-table",
              .caption = "GPUs, around iterations with nothing between them",
              .columns = {{"rank", CellKind::kCount},
                          {"GPU"},
                          {"SM MHz"},
                          {"°C"},
                          {"mean W", CellKind::kFigure},
                          {"J", CellKind::kFigure},
                          {"peak", CellKind::kBytes},
                          {"reserved", CellKind::kBytes},
                          {"driver allocations", CellKind::kCount}}};
  Markup notes;
  for (const RankReport& rank : report.ranks) {
    if (!rank.gpu) {
      continue;
    }
    const et_schema::DeviceMemory& memory = rank.gpu->memory;
    const et_schema::GpuHealth health = rank.gpu->health.value_or(et_schema::GpuHealth{});
    table.rows.push_back({static_cast<std::uint64_t>(rank.rank),
                          health.name.empty() ? Cell() : Cell(health.name),
                          before_after(health.before.sm_clock_mhz, health.after.sm_clock_mhz),
                          before_after(health.before.temperature_c, health.after.temperature_c),
                          cell_of(health.mean_power_w), cell_of(health.energy_j), memory.peak_bytes,
                          memory.peak_reserved_bytes, memory.driver_allocations});
    if (!rank.gpu->health) {
      notes += element("li", {}, fmt::format("rank {}: {}", rank.rank, rank.gpu->no_health));
    }
    for (const std::string& warning : health.warnings) {
      notes += element("li", {}, fmt::format("rank {}: {}", rank.rank, warning));
    }
  }
  return {"gpu", "GPU", table_markup(table) + (notes.empty() ? notes : element("ul", {}, notes))};
}

Section pace_section(const Report& report) {
  const et_schema::PaceUse& pace = report.total.pace;
  Section section{"pace", "Pace", {}};
  if (pace.mode == "asap") {
    section.body = element("p", {},
                           "Each operator was issued as soon as the one before it was done: the "
                           "original's host gaps are not in these times (replay --pace).");
    return section;
  }
  std::vector<Fact> facts = {{"mode", text(pace.mode)}};
  for (const et_schema::PaceCount& row : et_schema::kPaceCounts) {
    facts.push_back({std::string(text_of(row.key).text),
                     shown(fmt::format("/pace/{}", row.key), pace.*row.count)});
  }
  for (const et_schema::PaceFigure& row : et_schema::kPaceFigures) {
    const PaceText about = text_of(row.key);
    if (pace.*row.figure) {
      facts.push_back(
          {std::string(about.text), shown(fmt::format("/pace/{}", row.key), pace.*row.figure,
                                          CellKind::kFigure, std::string(about.unit))});
    }
  }
  section.body = facts_markup(facts);
  return section;
}

Section system_section(const Report& report) {
  const RankReport& total = report.total;
  std::vector<Fact> facts;
  for (const et_schema::CounterFigure& row : et_schema::kCounterFigures) {
    if (total.counters.*row.figure) {
      std::string name = row.key;
      for (char& character : name) {
        character = character == '_' ? ' ' : character;
      }
      facts.push_back(
          {name, shown(fmt::format("/counters/{}", row.key), total.counters.*row.figure)});
    }
  }
  if (facts.empty()) {
    return {"system", "System", {}};
  }
  if (!total.counters.instructions) {
    facts.push_back({"hardware counters", text(total.counters.hardware)});
  }
  if (total.measurement.foreign_cpus) {
    facts.push_back({"CPUs used by others meanwhile",
                     shown("/measurement/foreign_cpus", total.measurement.foreign_cpus)});
  }
  facts.push_back({"replayer's overhead an operator",
                   total.host_overhead_ns_per_operator
                       ? shown("/host_overhead_ns_per_operator",
                               total.host_overhead_ns_per_operator, CellKind::kFigure, "ns")
                       : text("less than the clock tells")});
  return {"system", "System, an iteration", facts_markup(facts)};
}

}  // namespace understudy::pages
