#include "capture/played/driver/card.h"

#include <array>
#include <map>
#include <string>

#include "capture/played/call.h"

namespace played {
namespace {

constexpr int kMostCards = 64;
constexpr int kFirstBus = 0x10;

struct Context {
  bool is_in_use = false;
};

Card the_card{.name = "NVIDIA H100 80GB HBM3",
              .memory_bytes = 85018279936,
              .major = 9,
              .minor = 0,
              .multiprocessors = 132,
              .shared_per_multiprocessor = 233472,
              .shared_opt_in = 232448,
              .l2_bytes = 52428800,
              .clock_khz = 1980000,
              .memory_clock_khz = 2619000,
              .bus_bits = 5120};
int the_count = 1;
std::array<Context, kMostCards> contexts;
thread_local int current = 0;

CUcontext context_of(int card) {
  return reinterpret_cast<CUcontext>(&contexts[static_cast<std::size_t>(card)]);
}

bool is_card(int card) {
  return card >= 0 && card < the_count;
}

struct ErrorText {
  const char* name;
  const char* text;
};

/// The errors that are given, by the names of the runtime.
const std::map<int, ErrorText> kErrors = {
    {CUDA_SUCCESS, {"cudaSuccess", "no error"}},
    {CUDA_ERROR_INVALID_VALUE, {"cudaErrorInvalidValue", "invalid argument"}},
    {CUDA_ERROR_OUT_OF_MEMORY, {"cudaErrorMemoryAllocation", "out of memory"}},
    {CUDA_ERROR_INVALID_DEVICE, {"cudaErrorInvalidDevice", "invalid device ordinal"}},
    {CUDA_ERROR_NO_BINARY_FOR_GPU,
     {"cudaErrorNoKernelImageForDevice",
      "no kernel image is available for execution on the device"}},
    {CUDA_ERROR_NOT_FOUND, {"cudaErrorSymbolNotFound", "named symbol not found"}},
    {CUDA_ERROR_ILLEGAL_STATE,
     {"cudaErrorIllegalState", "the operation cannot be performed in the present state"}},
    {CUDA_ERROR_NOT_SUPPORTED, {"cudaErrorNotSupported", "operation not supported"}},
};

ErrorText error_of(CUresult error) {
  const auto found = kErrors.find(error);
  return found == kErrors.end() ? ErrorText{"cudaErrorUnknown", "unknown error"} : found->second;
}

/// What all of NVIDIA's cards since Ampere answer.
const std::map<int, int> kAttributes = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    // Memory is not shared between processes, cards do not multicast, and pools are not played.
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
};

std::map<int, int> own_attributes(int ordinal) {
  return {
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, the_card.clock_khz},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, the_card.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, kFirstBus + ordinal},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, the_card.memory_clock_khz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, the_card.bus_bits},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, the_card.l2_bytes},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, the_card.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, the_card.minor},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
       the_card.shared_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, the_card.shared_opt_in},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, the_card.major >= 9},
      {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, the_card.major >= 9},
  };
}

CUresult retain(CUcontext* context, int card) {
  *context = is_card(card) ? context_of(card) : nullptr;
  return is_card(card) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult set_current(CUcontext context) {
  for (int card = 0; card < the_count; ++card) {
    if (context == context_of(card)) {
      return set_current_card(card);
    }
  }
  return context == nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

template <typename T>
CUresult answer(T* to, T value) {
  *to = value;
  return CUDA_SUCCESS;
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
  if (!is_card(card)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  current = card;
  contexts[static_cast<std::size_t>(card)].is_in_use = true;
  return CUDA_SUCCESS;
}

bool is_in_use(int card) {
  return is_card(card) && contexts[static_cast<std::size_t>(card)].is_in_use;
}

CUresult attribute_of_card(int* value, CUdevice_attribute attribute, int card) {
  for (const auto& attributes : {kAttributes, own_attributes(card)}) {
    const auto found = attributes.find(attribute);
    if (found != attributes.end()) {
      return answer(value, found->second);
    }
  }
  played_refuse(("attribute " + std::to_string(attribute) + " of a card is not played").c_str());
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUuuid uuid_of_card(int card) {
  CUuuid uuid{};
  uuid.bytes[sizeof uuid.bytes - 1] = static_cast<char>(card);
  return uuid;
}

const char* error_name(CUresult error) {
  return error_of(error).name;
}

const char* error_text(CUresult error) {
  return error_of(error).text;
}

}  // namespace played

void played_use(const played::Card* card, int count) {
  played::the_card = *card;
  played::the_count = count < played::kMostCards ? count : played::kMostCards;
}

using played::answer;

PLAYED_CALL(CUresult, cuInit, (unsigned), CUDA_SUCCESS)
PLAYED_CALL(CUresult, cuDriverGetVersion, (int* version), answer(version, CUDA_VERSION))
PLAYED_CALL(CUresult, cuGetErrorName, (CUresult error, const char** name),
            answer(name, played::error_name(error)))
PLAYED_CALL(CUresult, cuGetErrorString, (CUresult error, const char** text),
            answer(text, played::error_text(error)))
PLAYED_CALL(CUresult, cuDeviceGetCount, (int* count), answer(count, played::card_count()))
PLAYED_CALL(CUresult, cuDeviceGet, (CUdevice * card, int ordinal), answer(card, ordinal))
PLAYED_CALL(CUresult, cuDeviceGetUuid, (CUuuid * uuid, CUdevice card),
            answer(uuid, played::uuid_of_card(card)))
PLAYED_CALL(CUresult, cuDeviceGetAttribute,
            (int* value, CUdevice_attribute attribute, CUdevice card),
            played::attribute_of_card(value, attribute, card))
PLAYED_CALL(CUresult, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice card),
            played::retain(context, card))
PLAYED_CALL(CUresult, cuDevicePrimaryCtxRelease, (CUdevice), CUDA_SUCCESS)
PLAYED_CALL(CUresult, cuCtxGetCurrent, (CUcontext * context),
            answer(context, played::context_of(played::current_card())))
PLAYED_CALL(CUresult, cuCtxSetCurrent, (CUcontext context), played::set_current(context))
PLAYED_CALL(CUresult, cuCtxGetDevice, (CUdevice * card), answer(card, played::current_card()))

CUresult cuDevicePrimaryCtxGetState(CUdevice card, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = played::is_in_use(card) ? 1 : 0;
  return CUDA_SUCCESS;
}
