#pragma once

#include <functional>
#include <string>

#include "replayer/device/nvml.h"

namespace understudy::calibrator {

/// Measures the energy of a call: all that the GPU takes while the call is repeated, idle power
/// included, by the power between the counter's changes (replayer::EnergyEdges).
class EnergyMeter {
 public:
  /// Repeats for `seconds`. Throws Error (failed): as GpuMonitor does, and where NVML does not tell
  /// the energy of this GPU.
  EnergyMeter(const std::string& library, const std::string& pci_bus_id, double seconds);

  /// Joules of one `run`; `wait` returns when all that was run is done.
  [[nodiscard]] double joules_of(const std::function<void()>& run,
                                 const std::function<void()>& wait) const;

 private:
  [[nodiscard]] double energy_j() const;

  replayer::GpuMonitor monitor_;
  double seconds_;
};

}  // namespace understudy::calibrator
