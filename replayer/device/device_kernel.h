#pragma once

#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "et_schema/model/compiled_kernel.h"

namespace understudy::replayer {

/// The compute capability of a GPU of CUDA's, 10 × major + minor. Nothing for other devices, and
/// where the driver does not tell.
[[nodiscard]] std::optional<int> device_architecture(c10::Device device);

/// A kernel that was compiled ahead of time, loaded into CUDA's current context. It stays loaded as
/// long as the process runs.
class DeviceKernel {
 public:
  /// The kernel, or a sentence why there is none: a driver that lacks what a launch needs, or that
  /// does not take the machine code.
  [[nodiscard]] static std::variant<DeviceKernel, std::string> load(
      const et_schema::KernelBuild& build, c10::Device device);

  /// Issues it to the device's current stream, with a pointer to each parameter's bytes. A grid
  /// without blocks launches nothing. Throws c10::Error if the driver refuses.
  void launch(const std::array<std::int64_t, 3>& grid, void** arguments) const;

 private:
  DeviceKernel() = default;

  void* function_ = nullptr;
  c10::Device device_{c10::kCPU};
  et_schema::KernelBuild build_;
};

}  // namespace understudy::replayer
