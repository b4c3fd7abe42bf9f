// What LibTorch's CUDA half links of the runtime and of the driver, and nothing here calls: pools,
// memory of other processes, kernels compiled at run time.
#include "answers.h"

namespace {

constexpr int kNotSupported = 801;  // cudaErrorNotSupported

}  // namespace

ANSWERS(cudaDeviceEnablePeerAccess, kNotSupported)
ANSWERS(cudaDeviceGetDefaultMemPool, kNotSupported)
ANSWERS(cudaEventCreate, kNotSupported)
ANSWERS(cudaFreeAsync, kNotSupported)
ANSWERS(cudaGetSymbolAddress, kNotSupported)
ANSWERS(cudaGraphDebugDotPrint, kNotSupported)
ANSWERS(cudaGraphNodeGetDependencies, kNotSupported)
ANSWERS(cudaHostRegister, kNotSupported)
ANSWERS(cudaHostUnregister, kNotSupported)
ANSWERS(cudaIpcCloseMemHandle, kNotSupported)
ANSWERS(cudaIpcGetEventHandle, kNotSupported)
ANSWERS(cudaIpcGetMemHandle, kNotSupported)
ANSWERS(cudaIpcOpenEventHandle, kNotSupported)
ANSWERS(cudaIpcOpenMemHandle, kNotSupported)
ANSWERS(cudaLaunchCooperativeKernel, kNotSupported)
ANSWERS(cudaLaunchKernel, kNotSupported)
ANSWERS(cudaMallocAsync, kNotSupported)
ANSWERS(cudaMemPoolGetAttribute, kNotSupported)
ANSWERS(cudaMemPoolSetAccess, kNotSupported)
ANSWERS(cudaMemPoolSetAttribute, kNotSupported)
ANSWERS(cudaMemPoolTrimTo, kNotSupported)
ANSWERS(cudaMemcpy2DAsync, kNotSupported)
ANSWERS(cudaMemcpyPeerAsync, kNotSupported)
ANSWERS(cudaOccupancyMaxActiveBlocksPerMultiprocessor, kNotSupported)
ANSWERS(cudaProfilerStart, kNotSupported)
ANSWERS(cudaProfilerStop, kNotSupported)
ANSWERS(cudaStreamAddCallback, kNotSupported)
ANSWERS(cudaStreamCreate, kNotSupported)
ANSWERS(cudaStreamGetPriority, kNotSupported)
