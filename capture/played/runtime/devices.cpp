// Errors and cards.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "capture/played/call.h"
#include "capture/played/driver/card.h"
#include "capture/played/driver/launches.h"
#include "capture/played/runtime/note.h"

namespace played {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

CUresult tell_bus(char* id, int length, int card_index) {
  int bus = 0;
  const CUresult result = attribute_of_card(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, card_index);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(bus));
  return result;
}

/// What all of NVIDIA's cards since Ampere have.
void describe_any(cudaDeviceProp& is) {
  is.sharedMemPerBlock = 49152;
  is.regsPerBlock = is.regsPerMultiprocessor = 65536;
  is.warpSize = 32;
  is.memPitch = 2147483647;
  is.maxThreadsPerBlock = 1024;
  constexpr int kMostThreads[] = {1024, 1024, 64};
  constexpr int kMostBlocks[] = {2147483647, 65535, 65535};
  std::copy(std::begin(kMostThreads), std::end(kMostThreads), is.maxThreadsDim);
  std::copy(std::begin(kMostBlocks), std::end(kMostBlocks), is.maxGridSize);
  is.totalConstMem = 65536;
  is.textureAlignment = 512;
  is.texturePitchAlignment = 32;
  is.canMapHostMemory = is.concurrentKernels = is.ECCEnabled = is.unifiedAddressing = 1;
  is.asyncEngineCount = 3;
  is.maxThreadsPerMultiProcessor = 2048;
  is.streamPrioritiesSupported = is.globalL1CacheSupported = is.localL1CacheSupported = 1;
  is.cooperativeLaunch = is.computePreemptionSupported = is.hostRegisterSupported = 1;
  is.maxBlocksPerMultiProcessor = 32;
  is.reservedSharedMemPerBlock = 1024;
}

void describe_card(cudaDeviceProp& is, int card_index) {
  const Card& played = card();
  std::memcpy(is.name, played.name, sizeof played.name);
  const CUuuid uuid = uuid_of_card(card_index);
  std::memcpy(&is.uuid, &uuid, sizeof uuid);
  is.totalGlobalMem = played.memory_bytes;
  is.major = played.major;
  is.minor = played.minor;
  is.multiProcessorCount = played.multiprocessors;
  is.sharedMemPerMultiprocessor = static_cast<std::size_t>(played.shared_per_multiprocessor);
  is.sharedMemPerBlockOptin = static_cast<std::size_t>(played.shared_opt_in);
  is.l2CacheSize = played.l2_bytes;
  is.persistingL2CacheMaxSize = played.l2_bytes / 8 * 5;
  is.memoryBusWidth = played.bus_bits;
  is.clusterLaunch = played.major >= 9 ? 1 : 0;
}

CUresult describe(cudaDeviceProp* is, int card_index) {
  std::memset(is, 0, sizeof *is);
  describe_any(*is);
  describe_card(*is, card_index);
  return attribute_of_card(&is->pciBusID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, card_index);
}

template <typename T>
CUresult answer(T* to, T value) {
  *to = value;
  return CUDA_SUCCESS;
}

CUresult find_function(const char* name, void** function, cudaDriverEntryPointQueryResult* result) {
  CUdriverProcAddressQueryResult found{};
  cuGetProcAddress(name, function, CUDA_VERSION, 0, &found);
  if (result != nullptr) {
    *result = static_cast<cudaDriverEntryPointQueryResult>(found);
  }
  return CUDA_SUCCESS;
}

}  // namespace

cudaError_t note_result(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  if (error != cudaSuccess) {
    last_error = error;
  }
  return error;
}

}  // namespace played

using played::answer;

PLAYED_CALL(const char*, cudaGetErrorName, (cudaError_t error),
            played::error_name(static_cast<CUresult>(error)))
PLAYED_CALL(const char*, cudaGetErrorString, (cudaError_t error),
            played::error_text(static_cast<CUresult>(error)))
PLAYED_CALL(cudaError_t, cudaGetLastError, (), std::exchange(played::last_error, cudaSuccess))
PLAYED_CALL(cudaError_t, cudaPeekAtLastError, (), played::last_error)
PLAYED_RUNTIME(cudaDriverGetVersion, (int* version), answer(version, CUDART_VERSION))
PLAYED_RUNTIME(cudaRuntimeGetVersion, (int* version), answer(version, CUDART_VERSION))
PLAYED_RUNTIME(cudaGetDeviceCount, (int* count), answer(count, played::card_count()))
PLAYED_RUNTIME(cudaGetDevice, (int* card), answer(card, played::current_card()))
PLAYED_RUNTIME(cudaSetDevice, (int card), played::set_current_card(card))
PLAYED_RUNTIME(cudaDeviceSynchronize, (), played::call("cudaDeviceSynchronize"))
PLAYED_RUNTIME(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int card),
               played::attribute_of_card(value, static_cast<CUdevice_attribute>(attribute), card))
PLAYED_RUNTIME(cudaGetDeviceProperties, (cudaDeviceProp * is, int card), played::describe(is, card))
PLAYED_RUNTIME(cudaDeviceGetPCIBusId, (char* id, int length, int card),
               played::tell_bus(id, length, card))
PLAYED_RUNTIME(cudaDeviceCanAccessPeer, (int* can, int card, int other), answer(can, card == other ? 0 : 1))
PLAYED_RUNTIME(cudaDeviceEnablePeerAccess, (int, unsigned), CUDA_SUCCESS)
extern "C" PLAYED_RUNTIME(cudaProfilerStart, (), CUDA_SUCCESS)
extern "C" PLAYED_RUNTIME(cudaProfilerStop, (), CUDA_SUCCESS)
PLAYED_RUNTIME(cudaGetDriverEntryPointByVersion,
               (const char* name, void** function, unsigned, unsigned long long,
                cudaDriverEntryPointQueryResult* result),
               played::find_function(name, function, result))
