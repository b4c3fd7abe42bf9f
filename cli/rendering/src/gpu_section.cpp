#include "gpu_section.h"

#include <fmt/format.h>

#include "common/figures.h"
#include "common/table.h"

namespace understudy::cli {
namespace {

using et_schema::GpuHealth;
using et_schema::GpuUse;
using et_schema::RankReport;

/// "1,980 → 1,755": before and after.
std::string change_text(const std::optional<double>& before, const std::optional<double>& after) {
  const auto whole = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : std::string("–");
  };
  return whole(before) == whole(after) ? whole(after) : whole(before) + " → " + whole(after);
}

/// Of the window, where it was sampled.
std::string clock_text(const GpuHealth& health) {
  const et_schema::GpuSamples& samples = health.samples;
  if (!samples.sm_clock_min_mhz || !samples.sm_clock_max_mhz) {
    return change_text(health.before.sm_clock_mhz, health.after.sm_clock_mhz);
  }
  return *samples.sm_clock_min_mhz == *samples.sm_clock_max_mhz
             ? fmt::format("{:.0f}", *samples.sm_clock_max_mhz)
             : fmt::format("{:.0f}–{:.0f}", *samples.sm_clock_min_mhz, *samples.sm_clock_max_mhz);
}

std::vector<std::string> row_of(const RankReport& rank) {
  const GpuUse& gpu = *rank.gpu;
  const GpuHealth health = gpu.health.value_or(GpuHealth{});
  return {fmt::format("{}", rank.rank),
          health.name.empty() ? "–" : health.name,
          clock_text(health),
          change_text(health.before.temperature_c, health.after.temperature_c),
          figure_text(health.mean_power_w),
          figure_text(health.energy_j),
          health.window_iterations == 0
              ? "–"
              : fmt::format("{} s, {} iterations", figure_text(health.window_s),
                            with_commas(health.window_iterations)),
          with_bytes(gpu.memory.peak_bytes),
          with_bytes(gpu.memory.peak_reserved_bytes),
          with_commas(gpu.memory.driver_allocations)};
}

}  // namespace

Section gpu_section(const et_schema::Report& report) {
  TextTable table({{"rank", kRight},
                   {"GPU"},
                   {"SM MHz", kRight},
                   {"°C", kRight},
                   {"mean W", kRight},
                   {"J", kRight},
                   {"taken over", kRight},
                   {"peak", kRight},
                   {"reserved", kRight},
                   {"driver allocations", kRight}});
  std::string notes;
  for (const RankReport& rank : report.ranks) {
    if (!rank.gpu) {
      continue;
    }
    table.add(row_of(rank));
    if (!rank.gpu->health) {
      notes += fmt::format("  rank {}: {}\n", rank.rank, rank.gpu->no_health);
      continue;
    }
    for (const std::string& warning : rank.gpu->health->warnings) {
      notes += fmt::format("  WARNING rank {}: {}\n", rank.rank, warning);
    }
  }
  return {"GPU", table.empty() ? "" : table.to_text() + notes};
}

}  // namespace understudy::cli
