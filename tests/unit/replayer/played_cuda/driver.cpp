// The driver's library as LibTorch's CUDA half links it for kernels that it compiles at run time:
// none of it is asked for here but which context is current.
#include "answers.h"

namespace {

constexpr int kSuccess = 0;

}  // namespace

ANSWERS(cuCtxGetCurrent, kSuccess)
ANSWERS(cuCtxSetCurrent, kSuccess)
ANSWERS(cuDeviceGet, kSuccess)
ANSWERS(cuDeviceGetAttribute, kSuccess)
ANSWERS(cuDevicePrimaryCtxGetState, kSuccess)
ANSWERS(cuDevicePrimaryCtxRetain, kSuccess)
ANSWERS(cuFuncGetAttribute, kSuccess)
ANSWERS(cuFuncSetAttribute, kSuccess)
ANSWERS(cuFuncSetCacheConfig, kSuccess)
ANSWERS(cuGetErrorString, kSuccess)
ANSWERS(cuLaunchCooperativeKernel, kSuccess)
ANSWERS(cuLaunchKernel, kSuccess)
ANSWERS(cuLinkAddData_v2, kSuccess)
ANSWERS(cuLinkComplete, kSuccess)
ANSWERS(cuLinkCreate_v2, kSuccess)
ANSWERS(cuModuleGetFunction, kSuccess)
ANSWERS(cuModuleLoad, kSuccess)
ANSWERS(cuModuleLoadData, kSuccess)
ANSWERS(cuModuleLoadDataEx, kSuccess)
ANSWERS(cuModuleUnload, kSuccess)
ANSWERS(cuOccupancyMaxActiveBlocksPerMultiprocessor, kSuccess)
ANSWERS(cuPointerGetAttribute, kSuccess)
ANSWERS(cuTensorMapEncodeTiled, kSuccess)
