#pragma once

#include <memory>
#include <string>
#include <vector>

#include "et_schema/model/gpu_use.h"

namespace understudy::replayer {

/// The library that is loaded: the one that the variable UNDERSTUDY_NVML names, or else the
/// driver's.
[[nodiscard]] std::string nvml_library();

/// Reads one GPU through NVML, which is loaded at run time, so nothing of it is needed to build or
/// to start. A reading takes some ten to hundred microseconds.
class GpuMonitor {
 public:
  /// The GPU, or the instance of one (MIG), with a UUID as CUDA tells it (device_uuid()). If that
  /// is empty or not known, the GPU at a PCI bus id ("0000:3b:00.0"); if that is empty too, the
  /// first one. Throws Error (failed): no such library, a library without a function that is
  /// needed, a GPU that it does not know.
  GpuMonitor(const std::string& library, const std::string& pci_bus_id,
             const std::string& uuid = "");
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;
  ~GpuMonitor();

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string driver_version() const;
  /// Reads the GPU's state; what NVML does not tell of this GPU is absent.
  [[nodiscard]] et_schema::GpuState read() const;
  /// Whether `power_w` is that of the moment of reading; otherwise it is NVML's mean over about a
  /// second.
  [[nodiscard]] bool tells_instant_power() const;
  /// Whether the figures are those of a whole GPU, of which the process has an instance (MIG).
  [[nodiscard]] bool is_of_instance() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

/// Combines two readings that lie `seconds` apart: energy and mean power between them.
[[nodiscard]] et_schema::GpuHealth gpu_health(const GpuMonitor& monitor,
                                              const et_schema::GpuState& before,
                                              const et_schema::GpuState& after, double seconds);

/// Sentences about clocks that were held down, or that moved while the samples were taken; none if
/// they were steady (docs/metrics.md, "GPU").
[[nodiscard]] std::vector<std::string> clock_warnings(const et_schema::GpuSamples& samples);

/// Throws Error (failed) if clocks were not steady, or if this is unknown.
void require_steady_clocks(const et_schema::GpuUse& gpu);

}  // namespace understudy::replayer
