#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace understudy::et_schema {

/// A GPU at one moment, as NVML tells it. What it does not tell is absent.
struct GpuState {
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> energy_j;  ///< since the driver was loaded
  std::optional<double> sm_clock_mhz;
  std::optional<double> sm_clock_limit_mhz;  ///< the highest that the GPU can run at
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;
  std::vector<std::string> throttle_reasons;  ///< why clocks are below their limit, by NVML's names
  bool operator==(const GpuState&) const = default;
};

/// Readings of a GPU one after the other, every few milliseconds.
struct GpuSamples {
  std::uint64_t count = 0;
  std::optional<double> sm_clock_min_mhz;
  std::optional<double> sm_clock_mean_mhz;
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> memory_clock_min_mhz;
  std::optional<double> memory_clock_max_mhz;
  std::optional<double> power_mean_w;
  std::optional<double> power_max_w;
  bool power_is_instant = false;            ///< else NVML's mean over about a second
  std::uint64_t energy_changes = 0;         ///< of the counter of energy
  std::map<std::string, double> throttled;  ///< by NVML's name of a reason: share of the readings
  bool operator==(const GpuSamples&) const = default;
};

/// The state of a GPU around and during iterations that follow each other, with the restores that
/// they need between them.
struct GpuHealth {
  std::string name;
  std::string driver_version;
  GpuState before;
  GpuState after;
  std::optional<double> energy_j;      ///< taken by the whole GPU meanwhile, without restores
  std::optional<double> mean_power_w;  ///< energy_j ÷ the window's time without restores
  double window_s = 0;                 ///< between both readings
  std::uint64_t window_iterations = 0;
  std::uint64_t restores = 0;         ///< within the window
  double restore_s = 0;               ///< of one of them, measured apart; 0: none was
  std::optional<double> restore_j;    ///< likewise
  GpuSamples samples;                 ///< of the window
  std::vector<std::string> warnings;  ///< why times may not repeat: sentences
  bool operator==(const GpuHealth&) const = default;
};

/// What LibTorch's caching allocator counted on the device during the measured iterations.
struct DeviceMemory {
  std::uint64_t peak_bytes = 0;            ///< highest sum of live tensors, sizes rounded up by it
  std::uint64_t peak_requested_bytes = 0;  ///< the same, as they were asked for
  std::uint64_t peak_reserved_bytes = 0;   ///< highest sum taken from the driver
  std::uint64_t allocations = 0;           ///< of tensors, all iterations
  std::uint64_t driver_allocations = 0;  ///< taken from the driver: each of them waits for the GPU
  std::uint64_t driver_frees = 0;        ///< given back to it
  std::uint64_t retries = 0;             ///< allocations that had to empty the cache first
  bool operator==(const DeviceMemory&) const = default;
};

/// What a rank's report says of its GPU; ranks on the CPU have none.
struct GpuUse {
  DeviceMemory memory;
  std::optional<GpuHealth> health;
  std::string no_health;  ///< why `health` is absent: a sentence
  bool operator==(const GpuUse&) const = default;
};

}  // namespace understudy::et_schema
