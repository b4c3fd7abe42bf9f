// Expandable segments: addresses are reserved first, memory is mapped there later.
#include <sys/mman.h>

#include "capture/played/call.h"
#include "capture/played/driver/card.h"
#include "capture/played/driver/memory.h"

namespace played {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20U;

struct Segment {
  int card;
  std::size_t bytes;
};

Segment* segment_of(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<Segment*>(handle);
}

void* pointer_of(CUdeviceptr at) {
  return reinterpret_cast<void*>(at);
}

CUresult reserve(CUdeviceptr* at, std::size_t bytes) {
  *at = reinterpret_cast<CUdeviceptr>(map_addresses(bytes));
  return *at == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult release_addresses(CUdeviceptr at, std::size_t bytes) {
  munmap(pointer_of(at), bytes);
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* handle, std::size_t bytes, int card_index) {
  const CUresult result = count_taken(card_index, bytes);
  if (result == CUDA_SUCCESS) {
    *handle = reinterpret_cast<CUmemGenericAllocationHandle>(new Segment{card_index, bytes});
  }
  return result;
}

CUresult release(Segment* segment) {
  count_given_back(segment->card, segment->bytes);
  delete segment;
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr at, std::size_t bytes, const Segment& segment) {
  add_block({range_of(pointer_of(at), bytes), segment.card, false, false});
  return CUDA_SUCCESS;
}

/// The host gets its pages back.
CUresult unmap(CUdeviceptr at, std::size_t bytes) {
  madvise(pointer_of(at), bytes, MADV_DONTNEED);
  for (std::size_t done = 0; done < bytes;) {
    const auto block = block_at(pointer_of(at + done));
    if (!block || give_back(pointer_of(block->range.begin)) != CUDA_SUCCESS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    done = block->range.end - at;
  }
  return CUDA_SUCCESS;
}

CUresult tell_granularity(std::size_t* bytes) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace played

PLAYED_CALL(CUresult, cuMemAddressReserve,
            (CUdeviceptr * at, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long),
            played::reserve(at, bytes))
PLAYED_CALL(CUresult, cuMemAddressFree, (CUdeviceptr at, std::size_t bytes),
            played::release_addresses(at, bytes))
PLAYED_CALL(CUresult, cuMemCreate,
            (CUmemGenericAllocationHandle * handle, std::size_t bytes,
             const CUmemAllocationProp* properties, unsigned long long),
            played::create(handle, bytes, properties->location.id))
PLAYED_CALL(CUresult, cuMemRelease, (CUmemGenericAllocationHandle handle),
            played::release(played::segment_of(handle)))
PLAYED_CALL(CUresult, cuMemMap,
            (CUdeviceptr at, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle handle,
             unsigned long long),
            played::map(at, bytes, *played::segment_of(handle)))
PLAYED_CALL(CUresult, cuMemUnmap, (CUdeviceptr at, std::size_t bytes), played::unmap(at, bytes))
PLAYED_CALL(CUresult, cuMemSetAccess,
            (CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t), CUDA_SUCCESS)
PLAYED_CALL(CUresult, cuMemGetAllocationGranularity,
            (std::size_t * bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags),
            played::tell_granularity(bytes))
