// The driver's library as LibTorch's CUDA half links it for kernels that it compiles at run time:
// none of it is asked for here but which context is current. Their arguments are of no interest.

#define SUCCESS(name)     \
  extern "C" int name() { \
    return 0;             \
  }

SUCCESS(cuCtxGetCurrent)
SUCCESS(cuCtxSetCurrent)
SUCCESS(cuDeviceGet)
SUCCESS(cuDeviceGetAttribute)
SUCCESS(cuDevicePrimaryCtxGetState)
SUCCESS(cuDevicePrimaryCtxRetain)
SUCCESS(cuFuncGetAttribute)
SUCCESS(cuFuncSetAttribute)
SUCCESS(cuFuncSetCacheConfig)
SUCCESS(cuGetErrorString)
SUCCESS(cuLaunchCooperativeKernel)
SUCCESS(cuLaunchKernel)
SUCCESS(cuLinkAddData_v2)
SUCCESS(cuLinkComplete)
SUCCESS(cuLinkCreate_v2)
SUCCESS(cuModuleGetFunction)
SUCCESS(cuModuleLoad)
SUCCESS(cuModuleLoadData)
SUCCESS(cuModuleLoadDataEx)
SUCCESS(cuModuleUnload)
SUCCESS(cuOccupancyMaxActiveBlocksPerMultiprocessor)
SUCCESS(cuPointerGetAttribute)
SUCCESS(cuTensorMapEncodeTiled)
