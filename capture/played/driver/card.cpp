#include "capture/played/driver/card.h"

#include <map>

namespace played {
namespace {

constexpr int kFirstBus = 0x10;

Card the_card{};
int the_count = 0;
thread_local int current = 0;

/// Contexts are numbers: each card has one.
CUcontext context_of(int card) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(card) + 1);
}

CUresult set_context(CUcontext context) {
  const auto number = static_cast<int>(reinterpret_cast<std::uintptr_t>(context));
  return number == 0 ? CUDA_SUCCESS : set_current_card(number - 1);
}

/// Memory is not shared between processes,
/// cards do not multicast, pools are not played.
std::map<int, int> attributes() {
  return {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMostThreads},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, kMostThreads},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, kMostBlocksX},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, kMostBlocksYZ},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, kMostBlocksYZ},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kSharedOfBlock},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, kWarpThreads},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, kRegisters},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, kRegisters},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, kThreadsOfMultiprocessor},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
      {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
      {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, the_card.clock_khz},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, the_card.memory_clock_khz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, the_card.bus_bits},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, the_card.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, the_card.l2_bytes},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, the_card.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, the_card.minor},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
       the_card.shared_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, the_card.shared_opt_in},
  };
}

CUresult tell_state(unsigned* flags, int* is_active) {
  *flags = 0;
  return answer(is_active, 1);
}

}  // namespace

const Card& card() {
  return the_card;
}

int card_count() {
  return the_count;
}

int current_card() {
  return current;
}

CUresult set_current_card(int card) {
  if (card < 0 || card >= the_count) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  return answer(&current, card);
}

CUresult attribute_of_card(int* value, CUdevice_attribute attribute, int card) {
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    return answer(value, kFirstBus + card);
  }
  static const std::map<int, int> kKnown = attributes();
  const auto found = kKnown.find(attribute);
  return found == kKnown.end() ? refuse("attribute " + std::to_string(attribute) + " of a card")
                               : answer(value, found->second);
}

CUresult uuid_of_card(CUuuid* uuid, int card) {
  *uuid = {};
  uuid->bytes[0] = static_cast<char>(card + 1);
  return CUDA_SUCCESS;
}

ErrorText text_of(int error) {
  switch (error) {
    case CUDA_SUCCESS:
      return {"cudaSuccess", "no error"};
    case CUDA_ERROR_OUT_OF_MEMORY:
      return {"cudaErrorMemoryAllocation", "out of memory"};
    case CUDA_ERROR_NOT_SUPPORTED:
      return {"cudaErrorNotSupported", "operation not supported"};
    case CUDA_ERROR_NOT_READY:
      return {"cudaErrorNotReady", "device not ready"};
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return {"cudaErrorIllegalAddress", "an illegal memory access was encountered"};
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return {"cudaErrorStreamCaptureUnsupported",
              "operation not permitted when stream is capturing"};
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
      return {"cudaErrorStreamCaptureInvalidated",
              "operation failed due to a previous error during capture"};
    default:
      return {"cudaErrorUnknown", "an error of the played card"};
  }
}

PLAYED_DRIVER(cuDriverGetVersion, (int* version), answer(version, CUDA_VERSION))
PLAYED_DRIVER(cuGetErrorName, (CUresult e, const char** name), answer(name, text_of(e).name))
PLAYED_DRIVER(cuGetErrorString, (CUresult e, const char** text), answer(text, text_of(e).text))

PLAYED_DRIVER(cuDeviceGetCount, (int* count), answer(count, the_count))
PLAYED_DRIVER(cuDeviceGet, (CUdevice * card, int ordinal), answer(card, ordinal))
PLAYED_DRIVER(cuDeviceGetUuid, (CUuuid * uuid, CUdevice card), uuid_of_card(uuid, card))
PLAYED_DRIVER(cuDeviceGetAttribute, (int* value, CUdevice_attribute attribute, CUdevice card),
              attribute_of_card(value, attribute, card))

PLAYED_DRIVER(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice card),
              answer(context, context_of(card)))
PLAYED_DRIVER(cuDevicePrimaryCtxGetState, (CUdevice, unsigned* flags, int* is_active),
              tell_state(flags, is_active))
PLAYED_DRIVER(cuCtxGetCurrent, (CUcontext * context), answer(context, context_of(current)))
PLAYED_DRIVER(cuCtxSetCurrent, (CUcontext context), set_context(context))
PLAYED_DRIVER(cuCtxGetDevice, (CUdevice * card), answer(card, current))

}  // namespace played

void played_use(const played::Card* card, int count) {
  played::the_card = *card;
  played::the_count = count;
}
