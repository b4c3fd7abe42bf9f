// Expandable segments: addresses are reserved first, memory is mapped there later.
#include <sys/mman.h>

#include "capture/played/driver/card.h"
#include "capture/played/driver/memory.h"

namespace played {
namespace {

constexpr std::size_t kGranularity = 2 * kMebibyte;

/// Memory of a card, whose handle is its address.
struct Segment {
  int card;
  std::ptrdiff_t bytes;
};

Segment& segment_of(CUmemGenericAllocationHandle handle) {
  return *reinterpret_cast<Segment*>(handle);
}

void* pointer_of(CUdeviceptr at) {
  return reinterpret_cast<void*>(at);
}

CUresult reserve(CUdeviceptr* at, std::size_t bytes) {
  *at = reinterpret_cast<CUdeviceptr>(map_addresses(bytes, false));
  return *at == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* handle, const Segment& segment) {
  const CUresult result = count_taken(segment.card, segment.bytes);
  if (result == CUDA_SUCCESS) {
    *handle = reinterpret_cast<CUmemGenericAllocationHandle>(new Segment(segment));
  }
  return result;
}

CUresult release(const Segment& segment) {
  const Segment was = segment;
  delete &segment;
  return count_taken(was.card, -was.bytes);
}

CUresult map(CUdeviceptr at, std::size_t bytes, const Segment& segment) {
  add_block({range_of(pointer_of(at), bytes), segment.card, false, false});
  return CUDA_SUCCESS;
}

/// Unmaps all that was mapped there. The host gets its pages back.
CUresult unmap(CUdeviceptr at, std::size_t bytes) {
  madvise(pointer_of(at), bytes, MADV_DONTNEED);
  const CUdeviceptr end = at + bytes;
  while (at < end) {
    const auto block = block_at(pointer_of(at));
    if (!block) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    at = block->range.end;
    give_back(pointer_of(block->range.begin));
  }
  return CUDA_SUCCESS;
}

}  // namespace

PLAYED_DRIVER(cuMemAddressReserve,
              (CUdeviceptr * at, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long),
              reserve(at, bytes))
PLAYED_DRIVER(cuMemAddressFree, (CUdeviceptr at, std::size_t bytes),
              munmap(pointer_of(at), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
PLAYED_DRIVER(cuMemCreate,
              (CUmemGenericAllocationHandle * handle, std::size_t bytes,
               const CUmemAllocationProp* is, unsigned long long),
              create(handle, {is->location.id, static_cast<std::ptrdiff_t>(bytes)}))
PLAYED_DRIVER(cuMemRelease, (CUmemGenericAllocationHandle handle), release(segment_of(handle)))
PLAYED_DRIVER(cuMemMap,
              (CUdeviceptr at, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle handle,
               unsigned long long),
              map(at, bytes, segment_of(handle)))
PLAYED_DRIVER(cuMemUnmap, (CUdeviceptr at, std::size_t bytes), unmap(at, bytes))
PLAYED_DRIVER(cuMemGetAllocationGranularity,
              (std::size_t * bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags),
              answer(bytes, kGranularity))

}  // namespace played
