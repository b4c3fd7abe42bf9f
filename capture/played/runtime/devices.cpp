// Errors and cards.
#include <cstdio>
#include <cstring>
#include <utility>

#include "capture/played/driver/card.h"
#include "capture/played/runtime/note.h"

namespace played {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

/// What does not depend on the card.
cudaDeviceProp any_card() {
  cudaDeviceProp is{};
  is.sharedMemPerBlock = kSharedOfBlock;
  is.regsPerBlock = is.regsPerMultiprocessor = kRegisters;
  is.warpSize = kWarpThreads;
  is.maxThreadsPerBlock = is.maxThreadsDim[0] = is.maxThreadsDim[1] = kMostThreads;
  is.maxThreadsDim[2] = 64;
  is.maxGridSize[0] = kMostBlocksX;
  is.memPitch = 2147483647;
  is.maxGridSize[1] = is.maxGridSize[2] = kMostBlocksYZ;
  is.totalConstMem = 65536;
  is.textureAlignment = 512;
  is.maxThreadsPerMultiProcessor = kThreadsOfMultiprocessor;
  is.maxBlocksPerMultiProcessor = kBlocksOfMultiprocessor;
  is.reservedSharedMemPerBlock = kReservedShared;
  is.asyncEngineCount = 3;
  is.canMapHostMemory = is.concurrentKernels = is.ECCEnabled = is.unifiedAddressing = 1;
  is.streamPrioritiesSupported = is.cooperativeLaunch = is.hostRegisterSupported = 1;
  return is;
}

CUresult describe(cudaDeviceProp* is, int card_index) {
  const Card& played = card();
  *is = any_card();
  std::memcpy(is->name, played.name, sizeof played.name);
  uuid_of_card(&is->uuid, card_index);
  is->totalGlobalMem = played.memory_bytes;
  is->major = played.major;
  is->minor = played.minor;
  is->multiProcessorCount = played.multiprocessors;
  is->sharedMemPerMultiprocessor = static_cast<std::size_t>(played.shared_per_multiprocessor);
  is->sharedMemPerBlockOptin = static_cast<std::size_t>(played.shared_opt_in);
  is->l2CacheSize = played.l2_bytes;
  is->memoryBusWidth = played.bus_bits;
  is->clusterLaunch = played.major >= 9 ? 1 : 0;
  return attribute_of_card(&is->pciBusID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, card_index);
}

CUresult tell_bus(char* text, int bytes, int card_index) {
  int bus = 0;
  const CUresult result = attribute_of_card(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, card_index);
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", bus);
  return result;
}

/// A function that is not there is no error: who asks sees it in the result.
CUresult find_function(const char* name, void** function, cudaDriverEntryPointQueryResult* result) {
  CUdriverProcAddressQueryResult found{};
  cuGetProcAddress(name, function, CUDA_VERSION, 0, &found);
  return answer(result, static_cast<cudaDriverEntryPointQueryResult>(found));
}

}  // namespace

cudaError_t note_result(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  last_error = error == cudaSuccess ? last_error : error;
  return error;
}

PLAYED_CALL(const char*, cudaGetErrorName, (cudaError_t error), text_of(error).name)
PLAYED_CALL(const char*, cudaGetErrorString, (cudaError_t error), text_of(error).text)
PLAYED_CALL(cudaError_t, cudaGetLastError, (), std::exchange(last_error, cudaSuccess))
PLAYED_CALL(cudaError_t, cudaPeekAtLastError, (), last_error)
PLAYED_RUNTIME(cudaDriverGetVersion, (int* version), answer(version, CUDART_VERSION))
PLAYED_RUNTIME(cudaRuntimeGetVersion, (int* version), answer(version, CUDART_VERSION))
PLAYED_RUNTIME(cudaGetDeviceCount, (int* count), answer(count, card_count()))
PLAYED_RUNTIME(cudaGetDevice, (int* card), answer(card, current_card()))
PLAYED_RUNTIME(cudaSetDevice, (int card), set_current_card(card))
PLAYED_RUNTIME(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int card),
               attribute_of_card(value, static_cast<CUdevice_attribute>(attribute), card))
PLAYED_RUNTIME(cudaGetDeviceProperties, (cudaDeviceProp * is, int card), describe(is, card))
PLAYED_RUNTIME(cudaDeviceGetPCIBusId, (char* text, int bytes, int card),
               tell_bus(text, bytes, card))
PLAYED_RUNTIME(cudaDeviceCanAccessPeer, (int* can, int card, int other),
               answer(can, card == other ? 0 : 1))
PLAYED_RUNTIME(cudaGetDriverEntryPointByVersion,
               (const char* name, void** function, unsigned, unsigned long long,
                cudaDriverEntryPointQueryResult* result),
               find_function(name, function, result))

}  // namespace played
