#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>

#include "et_schema/model/gpu_use.h"
#include "replayer/cuda/nvml.h"

namespace understudy::replayer {

/// Computes power from an energy counter that changes in steps of 20 to 100 ms. Only the time from
/// the first to the last change counts: between two changes the counter shows the energy at an
/// earlier time.
class EnergyEdges {
 public:
  /// Adds a reading; readings must be ordered by time.
  void add(double time_s, double energy_j);
  /// Returns nothing with fewer than two changes.
  [[nodiscard]] std::optional<double> power_w() const;
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  struct Edge {
    double time_s = 0;
    double energy_j = 0;
  };
  std::optional<double> energy_j_;  ///< from the last reading
  Edge first_;
  Edge last_;
  std::uint64_t changes_ = 0;
};

/// Reads a GPU's state every two milliseconds on its own thread, until it is stopped or destroyed.
class GpuSampler {
 public:
  struct Result {
    et_schema::GpuSamples samples;
    std::optional<double> power_w;  ///< from the energy counter
  };

  /// `monitor` must outlive it.
  explicit GpuSampler(const GpuMonitor& monitor);
  /// Stops the thread and returns the samples.
  [[nodiscard]] Result stop();

 private:
  void sample(const std::stop_token& stop);
  void take(const et_schema::GpuState& state, double time_s);

  const GpuMonitor& monitor_;
  et_schema::GpuSamples samples_;
  EnergyEdges energy_;
  std::uint64_t clock_readings_ = 0;
  std::uint64_t power_readings_ = 0;
  std::jthread thread_;  // must be the last member: destroyed first, because the thread writes to
                         // the others
};

}  // namespace understudy::replayer
