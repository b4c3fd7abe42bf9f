#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "replayer/backends/interface/backend.h"

namespace understudy::backends {

/// What a communicator of devices needs of the program that has the tensors.
struct DeviceOptions {
  /// Tells the stream that works on the tensors now: CUDA's handle, null for the default stream. A
  /// call starts behind it, and what is waited for is ahead of what it gets then. None: always the
  /// default stream.
  std::function<void*()> stream = {};
  double time_limit_s = 300;
  /// Memory of the device that calls need beside their tensors; it is freed when no call uses it
  /// any more. None: the driver's.
  std::function<std::shared_ptr<void>(std::size_t bytes)> allocate = {};
  /// Tells NCCL of each buffer when it is used first, which can then go without copies of its own.
  bool registers_buffers = false;
};

/// Moves tensors between the devices of a job's ranks without a detour through their hosts. Calls
/// in host memory go to the backend that it was made over.
class DeviceCommunicator : public Communicator {
 public:
  [[nodiscard]] virtual std::string name() const = 0;     ///< "nccl"
  [[nodiscard]] virtual std::string version() const = 0;  ///< the library's, "2.28.9"
  /// See Job::set_time_limit().
  virtual void set_time_limit(double seconds) = 0;
};

/// What the module of such a communicator exports with C linkage under the name below, beside
/// kBackendVersionSymbol.
using MakeDeviceCommunicatorFn = DeviceCommunicator* (*)(Backend&, const DeviceOptions&);
inline constexpr const char* kMakeDeviceCommunicatorSymbol = "understudy_make_device_communicator";

/// Loads module `name` ("nccl") from `directory`; it stays loaded until the process ends. The
/// device must be open, and current on this thread. `host` must outlive what is made: the ranks
/// meet by it. Throws Error (usage) as load_backend() does, and where the device's libraries are
/// missing.
[[nodiscard]] std::unique_ptr<DeviceCommunicator> load_device_communicator(
    const std::string& name, const std::string& directory, Backend& host,
    const DeviceOptions& options);

/// The same by the communicator that comes with this version, from module_directory().
[[nodiscard]] std::unique_ptr<DeviceCommunicator> connect_devices(Backend& host,
                                                                  const DeviceOptions& options);

}  // namespace understudy::backends
