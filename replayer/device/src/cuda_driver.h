#pragma once

#include "et_schema/base/shared_library.h"

namespace understudy::replayer {

// The parts of CUDA's driver in use, declared as in cuda.h of CUDA 12, so that the build needs no
// CUDA header.

/// CUlaunchAttribute.
struct CudaLaunchAttribute {
  int id = 0;
  alignas(8) unsigned value[16] = {};
};

/// CUlaunchConfig.
struct CudaLaunch {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  CudaLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

/// CUDA's driver, which is loaded once a device is open. Functions are null if the driver is
/// missing or lacks them.
struct CudaDriver {
  int (*load_module)(void** loaded, const void* image) = nullptr;
  int (*get_function)(void** function, void* loaded, const char* name) = nullptr;
  int (*set_attribute)(void* function, int attribute, int value) = nullptr;
  int (*device_uuid)(unsigned char* bytes, int device) = nullptr;
  int (*device_attribute)(int* value, int attribute, int device) = nullptr;
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** arguments, void** extra) = nullptr;
  int (*launch_with)(const CudaLaunch* launch, void* function, void** arguments,
                     void** extra) = nullptr;
};

[[nodiscard]] inline const CudaDriver& cuda_driver() {
  static const CudaDriver found = [] {
    const et_schema::SharedLibrary library("libcuda.so.1", RTLD_LOCAL);
    CudaDriver driver;
    const auto find = [&library]<typename Function>(Function*& function, const char* name) {
      function = library.function<Function>(name);
    };
    find(driver.load_module, "cuModuleLoadData");
    find(driver.get_function, "cuModuleGetFunction");
    find(driver.set_attribute, "cuFuncSetAttribute");
    // For an instance of a GPU (MIG) the newer function returns its own UUID, the older one the
    // GPU's.
    find(driver.device_uuid, "cuDeviceGetUuid_v2");
    if (driver.device_uuid == nullptr) {
      find(driver.device_uuid, "cuDeviceGetUuid");
    }
    find(driver.device_attribute, "cuDeviceGetAttribute");
    find(driver.launch, "cuLaunchKernel");
    find(driver.launch_with, "cuLaunchKernelEx");
    return driver;
  }();
  return found;
}

}  // namespace understudy::replayer
