#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "et_schema/support/error.h"
#include "replayer/device/nvml.h"

namespace understudy::replayer {
namespace {

using et_schema::GpuState;

/// Why a GPU runs below the clock it was set to. Idling and a clock that somebody set are none.
constexpr std::array<std::string_view, 6> kHeldDown = {
    "sw_power_cap",        "hw_slowdown",         "sync_boost",
    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"};

/// A clock that moves by more than this share between the readings is not steady.
constexpr double kClockDrift = 0.02;

void warn_of_reasons(const char* when, const GpuState& state, std::vector<std::string>& warnings) {
  std::vector<std::string> reasons;
  std::copy_if(state.throttle_reasons.begin(), state.throttle_reasons.end(),
               std::back_inserter(reasons), [](const std::string& reason) {
                 return std::find(kHeldDown.begin(), kHeldDown.end(), reason) != kHeldDown.end();
               });
  if (!reasons.empty()) {
    warnings.push_back(fmt::format("the GPU held its clocks down {} the measured iterations: {}",
                                   when, fmt::join(reasons, ", ")));
  }
}

void warn_of_drift(const char* clock, std::optional<double> before, std::optional<double> after,
                   std::vector<std::string>& warnings) {
  if (before && after && std::abs(*after - *before) > kClockDrift * *before) {
    warnings.push_back(fmt::format("the {} clock moved from {:.0f} to {:.0f} MHz while measuring",
                                   clock, *before, *after));
  }
}

}  // namespace

std::vector<std::string> clock_warnings(const GpuState& before, const GpuState& after) {
  std::vector<std::string> warnings;
  warn_of_reasons("before", before, warnings);
  warn_of_reasons("after", after, warnings);
  warn_of_drift("SM", before.sm_clock_mhz, after.sm_clock_mhz, warnings);
  warn_of_drift("memory", before.memory_clock_mhz, after.memory_clock_mhz, warnings);
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
  health.warnings = clock_warnings(before, after);
  return health;
}

void require_steady_clocks(const et_schema::GpuUse& gpu) {
  if (gpu.health && gpu.health->warnings.empty()) {
    return;
  }
  throw et_schema::run_failed(
      "the GPU's clocks were not steady",
      {.field = "--require-steady-clocks",
       .expected = "a GPU that nothing held down, at one clock before and after",
       .got = gpu.health ? fmt::format("{}", fmt::join(gpu.health->warnings, "; "))
                         : "no reading: " + gpu.no_health,
       .hint = "Fix the clocks (nvidia-smi --lock-gpu-clocks) below what power and heat allow, and "
               "let nothing else run on the GPU."});
}

}  // namespace understudy::replayer
