#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace understudy::et_schema {

/// A GPU at one moment, as NVML reports it. Values that NVML does not report are unset.
struct GpuState {
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> energy_j;  ///< since the driver was loaded
  std::optional<double> sm_clock_mhz;
  std::optional<double> sm_clock_limit_mhz;  ///< the GPU's highest SM clock
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;
  std::vector<std::string> throttle_reasons;  ///< why clocks are below their limit, in NVML's names
  bool operator==(const GpuState&) const = default;
};

/// Statistics of repeated GPU readings, a few milliseconds apart.
struct GpuSamples {
  std::uint64_t count = 0;
  std::optional<double> sm_clock_min_mhz;
  std::optional<double> sm_clock_mean_mhz;
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> memory_clock_min_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<double> power_mean_w;
  std::optional<double> power_max_w;
  bool power_is_instant = false;            ///< if false: NVML's mean over about a second
  std::uint64_t energy_changes = 0;         ///< number of changes of the energy counter
  std::map<std::string, double> throttled;  ///< share of the readings by throttle reason
  bool operator==(const GpuSamples&) const = default;
};

/// The state of a GPU around and during consecutive iterations, including the restores between
/// them.
struct GpuHealth {
  std::string name;
  std::string driver_version;
  GpuState before;
  GpuState after;
  std::optional<double> energy_j;      ///< used by the whole GPU in the window, without restores
  std::optional<double> mean_power_w;  ///< energy_j ÷ the window's time without restores
  double window_s = 0;                 ///< from `before` to `after`
  std::uint64_t window_iterations = 0;
  std::uint64_t restores = 0;         ///< within the window
  double restore_s = 0;               ///< of one restore, measured separately; 0: not measured
  std::optional<double> restore_j;    ///< likewise
  GpuSamples samples;                 ///< taken in the window
  std::vector<std::string> warnings;  ///< sentences on why times may not be reproducible
  bool operator==(const GpuHealth&) const = default;
};

/// Counters of LibTorch's caching allocator on the device during the measured iterations.
struct DeviceMemory {
  std::uint64_t peak_bytes = 0;            ///< highest sum of live tensors in rounded sizes
  std::uint64_t peak_requested_bytes = 0;  ///< the same in requested sizes
  std::uint64_t peak_reserved_bytes = 0;   ///< highest sum reserved from the driver
  std::uint64_t allocations = 0;           ///< of tensors, all iterations
  std::uint64_t driver_allocations = 0;    ///< requests to the driver: each waits for the GPU
  std::uint64_t driver_frees = 0;          ///< blocks returned to the driver
  std::uint64_t retries = 0;               ///< allocations that had to empty the cache first
  bool operator==(const DeviceMemory&) const = default;
};

/// A rank's GPU in its report; ranks on the CPU have none.
struct GpuUse {
  DeviceMemory memory;
  std::optional<GpuHealth> health;
  std::string no_health;  ///< why `health` is absent: a sentence
  bool operator==(const GpuUse&) const = default;
};

}  // namespace understudy::et_schema
