#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/gpu_use.h"

namespace understudy::replayer {

/// Returns the library to load: the value of the variable UNDERSTUDY_NVML, or else the driver's.
[[nodiscard]] std::string nvml_library();

/// Reads one GPU through NVML, which is loaded at run time; neither the build nor the start needs
/// it. A reading takes 10 to 100 µs.
class GpuMonitor {
 public:
  /// Opens the GPU, or the instance of one (MIG), with a UUID from CUDA (device_uuid()). If the
  /// UUID is empty or unknown, opens the GPU with the PCI bus id ("0000:3b:00.0"); if that is empty
  /// too, the first one. Throws Error (failed) if the library is missing, lacks a needed function,
  /// or does not know the GPU.
  GpuMonitor(const std::string& library, const std::string& pci_bus_id,
             const std::string& uuid = "");
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;
  ~GpuMonitor();

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string driver_version() const;
  /// Reads the GPU's state; values that NVML does not report are unset.
  [[nodiscard]] et_schema::GpuState read() const;
  /// Returns true if `power_w` is instantaneous; otherwise it is NVML's mean over about a second.
  [[nodiscard]] bool tells_instant_power() const;
  /// Returns true if the process uses an instance of a GPU (MIG): the figures are of the whole GPU.
  [[nodiscard]] bool is_of_instance() const;

  /// Reads the counters of the GPU, or of the process's instance of it (GPM). Throws Error (failed)
  /// if the GPU has none, NVML refuses, or the GPU is lost. The sample must not outlive this
  /// object.
  [[nodiscard]] std::shared_ptr<void> gpm_sample() const;
  /// Returns the mean of a metric (nvmlGpmMetricId_t) between two samples; nothing if the GPU lacks
  /// it. At least 100 ms must be between the samples: the counters are refreshed that often.
  [[nodiscard]] std::optional<double> gpm_mean(const std::shared_ptr<void>& first,
                                               const std::shared_ptr<void>& second,
                                               unsigned metric) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

/// Combines two readings `seconds` apart: energy and mean power between them.
[[nodiscard]] et_schema::GpuHealth gpu_health(const GpuMonitor& monitor,
                                              const et_schema::GpuState& before,
                                              const et_schema::GpuState& after, double seconds);

/// Returns sentences about clocks that were held down or changed while samples were taken; empty if
/// they were steady (docs/metrics.md, "GPU").
[[nodiscard]] std::vector<std::string> clock_warnings(const et_schema::GpuSamples& samples);

/// Throws Error (failed) if clocks were not steady, or if this is unknown.
void require_steady_clocks(const et_schema::GpuUse& gpu);

}  // namespace understudy::replayer
