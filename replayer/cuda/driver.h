#pragma once

#include "et_schema/base/shared_library.h"

namespace understudy::replayer {

// The parts of CUDA's driver in use, declared as in cuda.h of CUDA 12, so that the build needs no
// CUDA header.

using CudaContext = struct CUctx_st*;

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

/// CUDA's driver, resolved at run time; functions that are missing are null. The runtime is not
/// used, because the name of its library depends on its version.
struct CudaDriver {
  template <typename... Parameters>
  using Function = et_schema::StatusFunction<Parameters...>;

  et_schema::SharedLibrary library{"libcuda.so.1", RTLD_LOCAL};  // must precede the functions

  // From the documentation of CUDA's driver interface; the names include the functions' versions.
  Function<CudaContext*> get_context{library, "cuCtxGetCurrent"};
  Function<void**, const void*> load_module{library, "cuModuleLoadData"};
  Function<void**, void*, const char*> get_function{library, "cuModuleGetFunction"};
  Function<void*, int, int> set_attribute{library, "cuFuncSetAttribute"};
  /// For an instance of a GPU (MIG) it returns the instance's UUID.
  Function<unsigned char*, int> device_uuid{library, "cuDeviceGetUuid_v2"};
  Function<int*, int, int> device_attribute{library, "cuDeviceGetAttribute"};
  Function<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
           void**, void**>
      launch{library, "cuLaunchKernel"};
  Function<const CudaLaunch*, void*, void**, void**> launch_with{library, "cuLaunchKernelEx"};
};

/// Returns the driver, which is loaded once a device is open; its functions may be null.
[[nodiscard]] const CudaDriver& cuda_driver();

}  // namespace understudy::replayer
