// The driver's library as LibTorch's CUDA half links it for kernels that it compiles at run time:
// none of it is asked for here but which context is current, which GPU it is, and the two kernels
// that hold a stream.
#include <cstring>

#include "answers.h"
#include "played_cuda.h"

namespace {

constexpr int kSuccess = 0;

}  // namespace

extern "C" {
/// 00112233-4455-6677-8899-aabbccddeeff.
int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  for (int i = 0; i < 16; ++i) {
    bytes[i] = static_cast<unsigned char>(0x11 * i);
  }
  return kSuccess;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = strdup(name);
  return kSuccess;
}
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void* stream, void** arguments, void**) {
  return played_cuda::launch_of_module(static_cast<const char*>(function), arguments, stream);
}
}

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
ANSWERS(cuLinkAddData_v2, kSuccess)
ANSWERS(cuLinkComplete, kSuccess)
ANSWERS(cuLinkCreate_v2, kSuccess)
ANSWERS(cuModuleLoad, kSuccess)
ANSWERS(cuModuleLoadData, kSuccess)
ANSWERS(cuModuleLoadDataEx, kSuccess)
ANSWERS(cuModuleUnload, kSuccess)
ANSWERS(cuOccupancyMaxActiveBlocksPerMultiprocessor, kSuccess)
ANSWERS(cuPointerGetAttribute, kSuccess)
ANSWERS(cuTensorMapEncodeTiled, kSuccess)
