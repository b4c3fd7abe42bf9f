#pragma once

#include <memory>
#include <string>

#include "replayer/backends/interface/backend.h"

namespace understudy::backends {

/// Moves tensors between the devices of a job's ranks without copies through host memory. A call
/// starts after the work of LibTorch's current stream, and what is issued to the stream after
/// wait() runs after the call. Calls in host memory are forwarded to the backend that it was made
/// with.
class DeviceCommunicator : public Communicator {
 public:
  [[nodiscard]] virtual std::string name() const = 0;     ///< "nccl"
  [[nodiscard]] virtual std::string version() const = 0;  ///< the library's version, "2.28.9"
  /// See Job::set_time_limit().
  virtual void set_time_limit(double seconds) = 0;
};

/// Function that the module of a device communicator exports with C linkage under the name below,
/// in addition to kBackendVersionSymbol.
using MakeDeviceCommunicatorFn = DeviceCommunicator* (*)(Backend&, const BackendOptions&);
inline constexpr const char* kMakeDeviceCommunicatorSymbol = "understudy_make_device_communicator";

/// Loads this version's device communicator from module_directory(); it stays loaded until the
/// process ends. The device must be open, and current on this thread. `host` must outlive the
/// result: the ranks set up their connections through it. Throws Error (usage) as load_backend()
/// does, and if the device's libraries are missing.
[[nodiscard]] std::unique_ptr<DeviceCommunicator> connect_devices(Backend& host,
                                                                  const BackendOptions& options);

}  // namespace understudy::backends
