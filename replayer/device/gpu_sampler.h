#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>

#include "et_schema/model/gpu_use.h"
#include "replayer/device/nvml.h"

namespace understudy::replayer {

/// Computes power from a counter of energy that moves in steps of 20 to 100 ms. It counts from the
/// first to the last change, since a reading between two changes tells the energy of an earlier
/// moment.
class EnergyEdges {
 public:
  /// Adds a reading; readings come in the order of time.
  void add(double time_s, double energy_j);
  /// Nothing with fewer than two changes.
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

/// Reads a GPU's state every two milliseconds, on a thread of its own, as long as it lives.
class GpuSampler {
 public:
  struct Result {
    et_schema::GpuSamples samples;
    std::optional<double> power_w;  ///< by the counter of energy
  };

  /// `monitor` must outlive it.
  explicit GpuSampler(const GpuMonitor& monitor);
  /// Ends the thread and returns what it has read.
  [[nodiscard]] Result stop();

 private:
  void sample(const std::stop_token& stop);
  void take(const et_schema::GpuState& state, double time_s);

  const GpuMonitor& monitor_;
  et_schema::GpuSamples samples_;
  EnergyEdges energy_;
  std::uint64_t clock_readings_ = 0;
  std::uint64_t power_readings_ = 0;
  std::jthread thread_;  // the last member: it ends before what it writes to
};

}  // namespace understudy::replayer
