#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "et_schema/model/gpu_use.h"
#include "et_schema/model/report.h"
#include "replayer/bind/bound.h"
#include "replayer/cuda/gpu_sampler.h"
#include "replayer/cuda/nvml.h"
#include "replayer/device/device_timing.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

class ColdCalls;

/// Returns the number of iterations that fill a window in which energy and clocks can be read:
/// NVML's counters change every 20 to 100 ms.
[[nodiscard]] inline std::size_t window_iterations(double iteration_ms) {
  constexpr double kWindowMs = 2200;  // at least 2 s if some iterations are faster
  constexpr double kShortestMs = 1e-3;
  return static_cast<std::size_t>(std::ceil(kWindowMs / std::max(iteration_ms, kShortestMs)));
}

/// Observes a rank's GPU during the measured iterations: allocator, clocks, power and energy. Does
/// nothing on the CPU.
class GpuObservation {
 public:
  explicit GpuObservation(c10::Device device);

  /// Must be called around each measured iteration, so that scans of values between them do not
  /// count.
  void begin_iteration();
  void end_iteration();

  /// Returns true if a GPU reports its power and clocks.
  [[nodiscard]] bool reads_health() const { return monitor_ != nullptr; }
  /// Must be called around consecutive restores; their energy is subtracted from the window's.
  void begin_restores() { begin_window(); }
  void end_restores(std::size_t restores);
  /// Must be called around consecutive iterations with nothing but restores between them.
  void begin_window();
  void end_window(std::size_t iterations, std::size_t restores);

  /// Does not change `use` on the CPU.
  void report(std::optional<et_schema::GpuUse>& use);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] et_schema::GpuHealth take_window();

  c10::Device device_;
  et_schema::GpuUse use_;
  std::unique_ptr<GpuMonitor> monitor_;  ///< null: no GPU, or no NVML
  et_schema::GpuState before_;
  Clock::time_point begin_;
  std::optional<GpuSampler> sampler_;
  double restore_s_ = 0;
  std::optional<double> restore_j_;
};

/// Passes that time steps on the device, after the rehearsal.
inline constexpr int kDevicePasses = 5;

/// Times each step on the device, in separate passes in which the host does not wait. Steps without
/// device work (views, memory that is not filled yet) are not timed.
class DeviceTimeHook {
 public:
  /// `cold` calls each step in pairs; may be null.
  DeviceTimeHook(const et_schema::Program& program, const BoundProgram& bound, c10::Device device,
                 ColdCalls* cold);

  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);
  void stored(const Step&) {}
  void dropped(const Step&) {}

  /// Ends the first pass and discards its times.
  void end_rehearsal();
  /// Waits for the pass and stores its times.
  void end_pass();
  /// Adds device times to the report's operators: the sum over an operator's steps in each pass,
  /// and the sum of the steps' medians over the passes. A communication's time is the stream's time
  /// in its start and its wait: the part that other work did not hide.
  void report(std::vector<et_schema::OperatorTime>& operators);
  /// By step, one entry per pass that ran it.
  [[nodiscard]] const std::vector<std::vector<double>>& passes_ms() const { return passes_ms_; }

 private:
  [[nodiscard]] std::size_t index(const Step& step) const {
    return static_cast<std::size_t>(&step - bound_.steps.data());
  }

  const BoundProgram& bound_;
  std::vector<bool> is_timed_;  ///< by step
  ColdCalls* cold_;
  DeviceTimer timer_;
  DeviceTimer warm_timer_;                      ///< of warm calls, if there are cold ones
  std::vector<std::vector<double>> passes_ms_;  ///< by step, one entry per pass that ran it
};

}  // namespace understudy::replayer
