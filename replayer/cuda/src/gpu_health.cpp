#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "et_schema/base/error.h"
#include "replayer/cuda/nvml.h"

namespace understudy::replayer {
namespace {

using et_schema::GpuState;

/// Reasons that hold a GPU below its set clock. Idling and a clock set by the user do not count.
constexpr std::array<std::string_view, 6> kHeldDown = {
    "sw_power_cap",        "hw_slowdown",         "sync_boost",
    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"};

/// A clock whose readings differ by more than this share is not steady.
constexpr double kClockDrift = 0.02;
constexpr double kPercent = 100;

void warn_of_drift(const char* clock, std::optional<double> least, std::optional<double> most,
                   std::vector<std::string>& warnings) {
  if (least && most && *most - *least > kClockDrift * *most) {
    warnings.push_back(
        fmt::format("the {} clock moved between {:.0f} and {:.0f} MHz", clock, *least, *most));
  }
}

}  // namespace

std::vector<std::string> clock_warnings(const et_schema::GpuSamples& samples) {
  std::vector<std::string> warnings;
  for (const auto& [reason, share] : samples.throttled) {
    if (std::ranges::find(kHeldDown, reason) != kHeldDown.end()) {
      warnings.push_back(fmt::format("the GPU held its clocks down in {:.1f} % of {} readings: {}",
                                     kPercent * share, samples.count, reason));
    }
  }
  warn_of_drift("SM", samples.sm_clock_min_mhz, samples.sm_clock_max_mhz, warnings);
  warn_of_drift("memory", samples.memory_clock_min_mhz, samples.memory_clock_max_mhz, warnings);
  return warnings;
}

et_schema::GpuHealth gpu_health(const GpuMonitor& monitor, const GpuState& before,
                                const GpuState& after, double seconds) {
  et_schema::GpuHealth health;
  health.name = monitor.name();
  health.driver_version = monitor.driver_version();
  health.before = before;
  health.after = after;
  if (before.energy_j && after.energy_j) {
    health.energy_j = *after.energy_j - *before.energy_j;
    if (seconds > 0) {
      health.mean_power_w = *health.energy_j / seconds;
    }
  }
  if (monitor.is_of_instance()) {
    health.warnings.emplace_back(
        "power, energy and clocks are of the whole GPU, of which the replay has one instance "
        "(MIG)");
  }
  return health;
}

void require_steady_clocks(const et_schema::GpuUse& gpu) {
  if (gpu.health && gpu.health->warnings.empty()) {
    return;
  }
  throw et_schema::run_failed(
      "the GPU's clocks were not steady",
      {.field = "--require-steady-clocks",
       .expected = "a GPU that nothing held down, at one clock",
       .got = gpu.health ? fmt::format("{}", fmt::join(gpu.health->warnings, "; "))
                         : "no reading: " + gpu.no_health,
       .hint = "Fix the clocks (nvidia-smi --lock-gpu-clocks) below what power and heat allow, and "
               "let nothing else run on the GPU."});
}

}  // namespace understudy::replayer
