#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replayer/counters/one_pass.h"
#include "replayer/cuda/nvml.h"

namespace understudy::replayer {

/// Counters of a GPU from NVIDIA's driver (GPM, Hopper or newer; docs/metrics.md, "Counters"):
/// means over a range, and with them the GPU's energy. They need no privilege and cost nothing.
class GpmSource : public OnePassSource {
 public:
  /// Arguments as GpuMonitor's. Throws Error (failed) as GpuMonitor and its gpm_sample() do.
  GpmSource(const std::string& library, const std::string& pci_bus_id, const std::string& uuid);

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::vector<std::string> call_names() const override { return {}; }
  /// The driver refreshes its counters every 100 ms: 5 % of a range.
  [[nodiscard]] double least_ms() const override { return 2000; }

 private:
  using Clock = std::chrono::steady_clock;

  void read_before() override;
  [[nodiscard]] et_schema::Counters read_after() override;
  [[nodiscard]] std::optional<double> energy_j() const;

  GpuMonitor monitor_;
  std::shared_ptr<void> before_;
  std::optional<double> energy_before_j_;
  Clock::time_point begin_;
};

}  // namespace understudy::replayer
