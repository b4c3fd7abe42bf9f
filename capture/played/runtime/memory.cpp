// Memory of cards and hosts, and copies.
#include "capture/played/driver/memory.h"

#include "capture/played/driver/card.h"
#include "capture/played/driver/copies.h"
#include "capture/played/runtime/kernels.h"
#include "capture/played/runtime/note.h"

namespace played {
namespace {

CUresult tell_free(std::size_t* free, std::size_t* total) {
  *free = free_bytes(current_card());
  *total = card().memory_bytes;
  return CUDA_SUCCESS;
}

CUresult register_host(void* at, std::size_t bytes) {
  add_block({range_of(at, bytes), current_card(), true, false});
  return CUDA_SUCCESS;
}

/// A pointer that the driver does not know is one of the host's.
CUresult describe(cudaPointerAttributes* is, const void* at) {
  const auto block = block_at(at);
  *is = {};
  is->type = !block           ? cudaMemoryTypeUnregistered
             : block->is_host ? cudaMemoryTypeHost
                              : cudaMemoryTypeDevice;
  is->device = block ? block->card : -1;
  is->devicePointer = block ? const_cast<void*>(at) : nullptr;
  is->hostPointer = block && block->is_host ? const_cast<void*>(at) : nullptr;
  return CUDA_SUCCESS;
}

CUresult find_symbol(void** at, const void* symbol) {
  *at = variable_of(symbol);
  return *at == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult copy_to_symbol(const void* symbol, const void* from, std::size_t bytes,
                        std::size_t offset) {
  void* at = nullptr;
  const CUresult result = find_symbol(&at, symbol);
  return result != CUDA_SUCCESS ? result
                                : copy({static_cast<char*>(at) + offset, from, bytes}, nullptr);
}

CUresult fill_bytes(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  return fill(at, static_cast<unsigned>(value), 1, bytes, stream);
}

}  // namespace
}  // namespace played

PLAYED_RUNTIME(cudaMemGetInfo, (std::size_t * free, std::size_t* total),
               played::tell_free(free, total))
PLAYED_RUNTIME(cudaMalloc, (void** at, std::size_t bytes), played::take(at, bytes, false))
PLAYED_RUNTIME(cudaFree, (void* at), played::give_back(at))
PLAYED_RUNTIME(cudaHostAlloc, (void** at, std::size_t bytes, unsigned),
               played::take(at, bytes, true))
PLAYED_RUNTIME(cudaMallocHost, (void** at, std::size_t bytes), played::take(at, bytes, true))
PLAYED_RUNTIME(cudaFreeHost, (void* at), played::give_back(at))
PLAYED_RUNTIME(cudaHostRegister, (void* at, std::size_t bytes, unsigned),
               played::register_host(at, bytes))
PLAYED_RUNTIME(cudaHostUnregister, (void* at), played::give_back(at))
PLAYED_RUNTIME(cudaPointerGetAttributes, (cudaPointerAttributes * is, const void* at),
               played::describe(is, at))
PLAYED_RUNTIME(cudaMemcpy, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind),
               played::copy({to, from, bytes}, nullptr))
PLAYED_RUNTIME(cudaMemcpyAsync,
               (void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream),
               played::copy({to, from, bytes}, stream))
PLAYED_RUNTIME(cudaMemcpyPeerAsync,
               (void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream),
               played::copy({to, from, bytes}, stream))
PLAYED_RUNTIME(cudaMemcpy2DAsync,
               (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream),
               played::copy({to, from, width, height, to_pitch, from_pitch}, stream))
PLAYED_RUNTIME(cudaMemset, (void* at, int value, std::size_t bytes),
               played::fill_bytes(at, value, bytes, nullptr))
PLAYED_RUNTIME(cudaMemsetAsync, (void* at, int value, std::size_t bytes, cudaStream_t stream),
               played::fill_bytes(at, value, bytes, stream))
PLAYED_RUNTIME(cudaGetSymbolAddress, (void** at, const void* symbol),
               played::find_symbol(at, symbol))
PLAYED_RUNTIME(cudaMemcpyToSymbol,
               (const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                cudaMemcpyKind),
               played::copy_to_symbol(symbol, from, bytes, offset))
