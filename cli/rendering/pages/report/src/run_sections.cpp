#include <fmt/format.h>

#include <array>

#include "et_schema/model/report_fields.h"
#include "parts.h"

namespace understudy::pages {
namespace {

using et_schema::RankReport;
using et_schema::Report;
using et_schema::RunFigures;

/// As pages write it.
std::string unit_text(std::string_view key) {
  const std::string_view unit = et_schema::unit_of(key);
  return unit == "us" ? "µs" : std::string(unit);
}

/// "1980 → 1755".
std::string before_after(const std::optional<double>& before, const std::optional<double>& after) {
  return fmt::format("{} → {}", cell_text(cell_of(before), CellKind::kFigure),
                     cell_text(cell_of(after), CellKind::kFigure));
}

}  // namespace

Section memory_section(const Report& report) {
  std::vector<Fact> facts;
  for (const auto& row : et_schema::kMemoryCounts) {
    facts.push_back({row.text, shown(fmt::format("/memory/{}", row.key),
                                     report.total.memory.*row.value, CellKind::kBytes)});
  }
  Markup body = facts_markup(facts);
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
  for (const auto& row : et_schema::kPaceCounts) {
    facts.push_back({row.text, shown(fmt::format("/pace/{}", row.key), pace.*row.value)});
  }
  for (const auto& row : et_schema::kPaceFigures) {
    if (pace.*row.value) {
      facts.push_back({row.text, shown(fmt::format("/pace/{}", row.key), pace.*row.value,
                                       CellKind::kFigure, unit_text(row.key))});
    }
  }
  section.body = facts_markup(facts);
  return section;
}

Section system_section(const Report& report) {
  const RunFigures& total = report.total;
  std::vector<Fact> facts;
  for (const auto& row : et_schema::kCounterFigures) {
    if (total.counters.*row.value) {
      std::string name = row.key;
      for (char& character : name) {
        character = character == '_' ? ' ' : character;
      }
      facts.push_back(
          {name, shown(fmt::format("/counters/{}", row.key), total.counters.*row.value)});
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
