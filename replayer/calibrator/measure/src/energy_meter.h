#pragma once

#include <functional>
#include <string>

#include "replayer/cuda/nvml.h"

namespace understudy::calibrator {

/// Measures the energy of a call: all that the GPU consumes while the call is repeated, including
/// idle power. The power is measured between changes of the GPU's energy counter
/// (replayer::EnergyEdges).
class EnergyMeter {
 public:
  /// Repeats calls for `seconds`. Throws Error (failed) as GpuMonitor does, and if NVML does not
  /// report the energy of this GPU.
  EnergyMeter(const std::string& library, const std::string& pci_bus_id, double seconds);

  /// Returns the joules of one `run`; `wait` must return when all issued runs are done.
  [[nodiscard]] double joules_of(const std::function<void()>& run,
                                 const std::function<void()>& wait) const;

 private:
  [[nodiscard]] double energy_j() const;

  replayer::GpuMonitor monitor_;
  double seconds_;
};

}  // namespace understudy::calibrator
