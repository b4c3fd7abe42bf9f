#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/gpu_use.h"
#include "et_schema/report.h"
#include "replayer/bound.h"
#include "replayer/device_timing.h"
#include "replayer/nvml.h"
#include "replayer/run.h"

namespace understudy::replayer {

/// What a rank's GPU did during the measured iterations: its allocator's figures, its clocks, power
/// and energy. Does nothing on the CPU.
class GpuObservation {
 public:
  explicit GpuObservation(c10::Device device);

  /// Right before the first measured iteration, with the GPU still warm from those before it.
  void begin();
  /// After each measured iteration, before the allocator's peak is reset.
  void note_iteration();
  /// After the last one. Leaves `use` as it is on the CPU.
  void end(std::optional<et_schema::GpuUse>& use);

 private:
  using Clock = std::chrono::steady_clock;

  c10::Device device_;
  et_schema::GpuUse use_;
  std::unique_ptr<GpuMonitor> monitor_;  ///< null: there is none, or NVML is not there
  et_schema::GpuState before_;
  Clock::time_point begin_;
};

/// Times each step on the device, in a pass of its own in which the host waits for nothing.
class DeviceTimeHook {
 public:
  DeviceTimeHook(const BoundProgram& program, c10::Device device)
      : program_(program), timer_(device, program.steps.size()) {}

  void built(const Step& step) { timer_.begin(index(step)); }
  void called(const Step& step, const torch::jit::Stack&) { timer_.end(index(step)); }
  void stored(const Step&) {}
  void dropped(const Step&) {}

  /// Waits for the pass and adds its times to the report's operators.
  void report(std::vector<et_schema::OperatorTime>& operators);

 private:
  [[nodiscard]] std::size_t index(const Step& step) const {
    return static_cast<std::size_t>(&step - program_.steps.data());
  }

  const BoundProgram& program_;
  DeviceTimer timer_;
};

}  // namespace understudy::replayer
