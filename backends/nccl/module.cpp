#include <memory>

#include "backends/device_communicator.h"
#include "nccl_communicator.h"

extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion;
}

extern "C" understudy::backends::DeviceCommunicator* understudy_make_device_communicator(
    understudy::backends::Backend& host, const understudy::backends::DeviceOptions& options) {
  return std::make_unique<understudy::backends::NcclCommunicator>(host, options).release();
}
