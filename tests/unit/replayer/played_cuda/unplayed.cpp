// What LibTorch's CUDA half links of the runtime and of the driver, and nothing here calls: graphs,
// pools, memory of other processes, kernels compiled at run time. Their arguments are of no
// interest.

#define NOT_SUPPORTED(name) \
  extern "C" int name() {   \
    return 801;             \
  }

NOT_SUPPORTED(cudaDeviceEnablePeerAccess)
NOT_SUPPORTED(cudaDeviceGetDefaultMemPool)
NOT_SUPPORTED(cudaEventCreate)
NOT_SUPPORTED(cudaEventRecordWithFlags)
NOT_SUPPORTED(cudaFreeAsync)
NOT_SUPPORTED(cudaGetSymbolAddress)
NOT_SUPPORTED(cudaGraphDebugDotPrint)
NOT_SUPPORTED(cudaGraphDestroy)
NOT_SUPPORTED(cudaGraphExecDestroy)
NOT_SUPPORTED(cudaGraphGetNodes)
NOT_SUPPORTED(cudaGraphInstantiateWithFlags)
NOT_SUPPORTED(cudaGraphLaunch)
NOT_SUPPORTED(cudaGraphNodeGetDependencies)
NOT_SUPPORTED(cudaHostRegister)
NOT_SUPPORTED(cudaHostUnregister)
NOT_SUPPORTED(cudaIpcCloseMemHandle)
NOT_SUPPORTED(cudaIpcGetEventHandle)
NOT_SUPPORTED(cudaIpcGetMemHandle)
NOT_SUPPORTED(cudaIpcOpenEventHandle)
NOT_SUPPORTED(cudaIpcOpenMemHandle)
NOT_SUPPORTED(cudaLaunchCooperativeKernel)
NOT_SUPPORTED(cudaLaunchHostFunc)
NOT_SUPPORTED(cudaLaunchKernel)
NOT_SUPPORTED(cudaMallocAsync)
NOT_SUPPORTED(cudaMemPoolGetAttribute)
NOT_SUPPORTED(cudaMemPoolSetAccess)
NOT_SUPPORTED(cudaMemPoolSetAttribute)
NOT_SUPPORTED(cudaMemPoolTrimTo)
NOT_SUPPORTED(cudaMemcpy2DAsync)
NOT_SUPPORTED(cudaMemcpyPeerAsync)
NOT_SUPPORTED(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
NOT_SUPPORTED(cudaProfilerStart)
NOT_SUPPORTED(cudaProfilerStop)
NOT_SUPPORTED(cudaStreamAddCallback)
NOT_SUPPORTED(cudaStreamBeginCapture)
NOT_SUPPORTED(cudaStreamCreate)
NOT_SUPPORTED(cudaStreamEndCapture)
NOT_SUPPORTED(cudaStreamGetPriority)
