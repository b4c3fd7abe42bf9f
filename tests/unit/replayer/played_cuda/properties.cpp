// The played GPU's properties: an H100's, as far as LibTorch asks for them.
// UNDERSTUDY_PLAYED_CAPABILITY=8.0 sets another compute capability.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "played_cuda.h"

namespace {

constexpr int kVersion = 13000;

cudaDeviceProp properties_of_gpu() {
  cudaDeviceProp properties{};
  std::snprintf(properties.name, sizeof properties.name, "A played H100");
  properties.totalGlobalMem = played_cuda::kUsualMemory;
  properties.sharedMemPerBlock = 49152;
  properties.sharedMemPerBlockOptin = 232448;
  properties.sharedMemPerMultiprocessor = 233472;
  properties.regsPerBlock = 65536;
  properties.regsPerMultiprocessor = 65536;
  properties.warpSize = 32;
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiProcessor = 2048;
  properties.maxBlocksPerMultiProcessor = 32;
  properties.maxThreadsDim[0] = properties.maxThreadsDim[1] = 1024;
  properties.maxThreadsDim[2] = 64;
  properties.maxGridSize[0] = 2147483647;
  properties.maxGridSize[1] = properties.maxGridSize[2] = 65535;
  properties.major = 9;
  if (const char* const wish = std::getenv("UNDERSTUDY_PLAYED_CAPABILITY"); wish != nullptr) {
    std::sscanf(wish, "%d.%d", &properties.major, &properties.minor);
  }
  properties.multiProcessorCount = 132;
  properties.l2CacheSize = 50 << 20;
  properties.textureAlignment = 512;
  properties.unifiedAddressing = 1;
  return properties;
}

int value_of(cudaDeviceAttr attribute) {
  const cudaDeviceProp properties = properties_of_gpu();
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      return properties.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerBlock:
      return properties.maxThreadsPerBlock;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return properties.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxGridDimX:
      return properties.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
      return properties.maxGridSize[1];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(properties.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(properties.sharedMemPerBlockOptin);
    case cudaDevAttrWarpSize:
      return properties.warpSize;
    case cudaDevAttrComputeCapabilityMajor:
      return properties.major;
    case cudaDevAttrComputeCapabilityMinor:
      return properties.minor;
    default:
      return 1;
  }
}

}  // namespace

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = properties_of_gpu();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = value_of(attribute);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:3b:00.0");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}

}  // extern "C"
