#pragma once

#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "et_schema/model/compiled_kernel.h"

namespace understudy::replayer {

/// Returns a CUDA GPU's compute capability, 10 × major + minor. Returns nothing for other devices,
/// or if the driver does not report it.
[[nodiscard]] std::optional<int> device_architecture(c10::Device device);

/// A kernel compiled ahead of time, loaded into CUDA's current context. It stays loaded until the
/// process ends.
class DeviceKernel {
 public:
  /// Returns the kernel, or a sentence with the reason: the driver lacks a function that a launch
  /// needs, or rejects the machine code.
  [[nodiscard]] static std::variant<DeviceKernel, std::string> load(
      const et_schema::KernelBuild& build, c10::Device device);

  /// Launches the kernel on the device's current stream, with a pointer to each parameter's bytes.
  /// A grid without blocks launches nothing. Throws c10::Error if the driver rejects it.
  void launch(const std::array<std::int64_t, 3>& grid, void** arguments) const;

 private:
  DeviceKernel() = default;

  void* function_ = nullptr;
  c10::Device device_{c10::kCPU};
  et_schema::KernelBuild build_;
};

}  // namespace understudy::replayer
