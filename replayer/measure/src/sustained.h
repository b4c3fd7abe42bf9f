#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "replayer/bind/bound.h"
#include "replayer/device/device_timing.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// Calls each operator back to back for seconds, on the operands that the program drew. The device
/// is then as warm, and draws as much power, as in steps that follow each other; a single call is a
/// burst at the highest clock. Calls run in stretches of some milliseconds. Before each stretch,
/// operands that the operator changes get their first content back. Only the second half of the
/// time counts.
class SustainedHook : public NoHook {
 public:
  /// `begins` is told the number of each step before its calls.
  SustainedHook(Machine& machine, BoundProgram& bound, c10::Device device, double seconds,
                std::function<void(std::size_t)> begins);

  void built(const Step& step);

  /// By step, an entry for each stretch: seconds of the host and milliseconds of the device a call.
  std::vector<std::vector<double>> host_s, device_ms;

 private:
  using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>;  ///< the operand, its content

  /// Returns the operands that a step changes, with copies.
  [[nodiscard]] static Copies changed_by(const Step& step, const torch::jit::Stack& stack);
  /// Calls the step so often. Returns the host's seconds.
  double stretch(const Step& step, const torch::jit::Stack& arguments, const Copies& changed,
                 std::size_t calls, DeviceTimer& timer);

  Machine& machine_;
  BoundProgram& bound_;
  c10::Device device_;
  double seconds_;
  std::function<void(std::size_t)> begins_;
};

}  // namespace understudy::replayer
