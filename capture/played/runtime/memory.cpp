// Memory of cards and hosts, and copies.
#include "capture/played/driver/memory.h"

#include "capture/played/runtime/note.h"

namespace played {
namespace {

CUresult tell_free(std::size_t* free, std::size_t* total) {
  *free = free_bytes(current_card());
  return answer(total, card().memory_bytes);
}

CUresult register_host(void* at, std::size_t bytes) {
  add_block({range_of(at, bytes), current_card(), true, false});
  return CUDA_SUCCESS;
}

/// Memory that the driver does not know is the host's own.
CUresult describe(cudaPointerAttributes* is, const void* at) {
  *is = {};
  is->device = -1;
  if (const auto block = block_at(at)) {
    is->type = block->is_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    is->device = block->card;
    is->devicePointer = const_cast<void*>(at);
    is->hostPointer = block->is_host ? is->devicePointer : nullptr;
  }
  return CUDA_SUCCESS;
}

}  // namespace

PLAYED_RUNTIME(cudaMemGetInfo, (std::size_t * free, std::size_t* total), tell_free(free, total))
PLAYED_RUNTIME(cudaMalloc, (void** at, std::size_t bytes), take(at, bytes, false))
PLAYED_RUNTIME(cudaFree, (void* at), give_back(at))
PLAYED_RUNTIME(cudaHostAlloc, (void** at, std::size_t bytes, unsigned), take(at, bytes, true))
PLAYED_RUNTIME(cudaMallocHost, (void** at, std::size_t bytes), take(at, bytes, true))
PLAYED_RUNTIME(cudaFreeHost, (void* at), give_back(at))
PLAYED_RUNTIME(cudaHostRegister, (void* at, std::size_t bytes, unsigned), register_host(at, bytes))
PLAYED_RUNTIME(cudaHostUnregister, (void* at), give_back(at))
PLAYED_RUNTIME(cudaPointerGetAttributes, (cudaPointerAttributes * is, const void* at),
               describe(is, at))

PLAYED_RUNTIME(cudaMemcpy, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind),
               copy(to, from, bytes, nullptr))
PLAYED_RUNTIME(cudaMemcpyAsync,
               (void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream),
               copy(to, from, bytes, stream))
PLAYED_RUNTIME(cudaMemcpyPeerAsync,
               (void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream),
               copy(to, from, bytes, stream))
PLAYED_RUNTIME(cudaMemset, (void* at, int value, std::size_t bytes),
               fill(at, static_cast<unsigned>(value), 1, bytes, nullptr))
PLAYED_RUNTIME(cudaMemsetAsync, (void* at, int value, std::size_t bytes, cudaStream_t stream),
               fill(at, static_cast<unsigned>(value), 1, bytes, stream))

}  // namespace played
