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
#include "replayer/device/device_timing.h"
#include "replayer/device/gpu_sampler.h"
#include "replayer/device/nvml.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// How many iterations of this length fill a window in which energy and clocks can be read: NVML's
/// counters move every 20 to 100 ms.
[[nodiscard]] inline std::size_t window_iterations(double iteration_ms) {
  constexpr double kWindowMs = 2200;  // at least 2 s, if some are a little faster
  constexpr double kShortestMs = 1e-3;
  return static_cast<std::size_t>(std::ceil(kWindowMs / std::max(iteration_ms, kShortestMs)));
}

/// What a rank's GPU did during the measured iterations: its allocator's figures, its clocks, power
/// and energy. Does nothing on the CPU.
class GpuObservation {
 public:
  explicit GpuObservation(c10::Device device);

  /// Around each measured iteration, so that scans of values between them do not count.
  void begin_iteration();
  void end_iteration();

  /// Whether there is a GPU that tells of its power and clocks.
  [[nodiscard]] bool reads_health() const { return monitor_ != nullptr; }
  /// Around restores that follow each other, which is what those of the window are taken out by.
  void begin_restores() { begin_window(); }
  void end_restores(std::size_t restores);
  /// Around iterations that follow each other with nothing but restores between them.
  void begin_window();
  void end_window(std::size_t iterations, std::size_t restores);

  /// Leaves `use` as it is on the CPU.
  void report(std::optional<et_schema::GpuUse>& use);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] et_schema::GpuHealth take_window();

  c10::Device device_;
  et_schema::GpuUse use_;
  std::unique_ptr<GpuMonitor> monitor_;  ///< null: there is none, or NVML is not there
  et_schema::GpuState before_;
  Clock::time_point begin_;
  std::optional<GpuSampler> sampler_;
  double restore_s_ = 0;
  std::optional<double> restore_j_;
};

/// Passes in which steps are timed on the device, behind the rehearsal.
inline constexpr int kDevicePasses = 5;

/// Times each step on the device, in passes of their own in which the host waits for nothing. Steps
/// that give the device nothing to do (views, memory that nothing fills yet) have no time there.
class DeviceTimeHook {
 public:
  DeviceTimeHook(const et_schema::Program& program, const BoundProgram& bound, c10::Device device);

  void built(const Step& step) {
    if (is_timed_[index(step)]) {
      timer_.begin(index(step));
    }
  }
  void called(const Step& step, const torch::jit::Stack&) {
    if (is_timed_[index(step)]) {
      timer_.end(index(step));
    }
  }
  void stored(const Step&) {}
  void dropped(const Step&) {}

  /// Ends the first pass, whose times are not kept.
  void end_rehearsal() { timer_.end_rehearsal(); }
  /// Waits for the pass and keeps its times.
  void end_pass();
  /// Adds to the report's operators their steps' times on the device: of each pass, and the sum of
  /// the medians over the passes. A communication has what its stream spent on starting it and on
  /// waiting for it: the rest that other work did not hide.
  void report(std::vector<et_schema::OperatorTime>& operators);
  /// By step, one entry a pass that ran it.
  [[nodiscard]] const std::vector<std::vector<double>>& passes_ms() const { return passes_ms_; }

 private:
  [[nodiscard]] std::size_t index(const Step& step) const {
    return static_cast<std::size_t>(&step - bound_.steps.data());
  }

  const BoundProgram& bound_;
  std::vector<bool> is_timed_;  ///< by step
  DeviceTimer timer_;
  std::vector<std::vector<double>> passes_ms_;  ///< by step, one entry a pass that ran it
};

}  // namespace understudy::replayer
