// What nvcc registers when a library is loaded, and launches.
#include <mutex>
#include <unordered_map>

#include "capture/played/driver/launches.h"
#include "capture/played/runtime/note.h"

namespace played {
namespace {

/// By the host's functions of the same names.
struct Registered {
  std::mutex mutex;
  std::unordered_map<const void*, Function*> functions;
};

Registered& registered() {
  static auto& the_registered = *new Registered;
  return the_registered;
}

/// A function by the host's, or by the handle that was given for it.
Function& function_by(const void* host) {
  const std::scoped_lock lock(registered().mutex);
  const auto found = registered().functions.find(host);
  return found == registered().functions.end() ? *static_cast<Function*>(const_cast<void*>(host))
                                               : *found->second;
}

/// Of the launch that this thread begins.
thread_local Work configuration;

Work shape_of(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  return {.grid = {grid.x, grid.y, grid.z},
          .block = {block.x, block.y, block.z},
          .shared = static_cast<unsigned>(shared),
          .stream = stream};
}

CUresult describe(cudaFuncAttributes* is, Function& function) {
  *is = {};
  int shared = 0;
  function.attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  is->sharedSizeBytes = static_cast<std::size_t>(shared);
  function.attribute(&is->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  function.attribute(&is->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
  function.attribute(&is->maxDynamicSharedSizeBytes,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  function.attribute(&is->ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  return function.attribute(&is->binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(new Module(static_cast<const char*>(wrapper)));
}

void __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const std::scoped_lock lock(registered().mutex);
  registered().functions[host] = new Function(name, *reinterpret_cast<Module*>(module));
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  configuration = shape_of(grid, block, shared, stream);
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared,
                                       void** stream) {
  *grid = {configuration.grid[0], configuration.grid[1], configuration.grid[2]};
  *block = {configuration.block[0], configuration.block[1], configuration.block[2]};
  *shared = configuration.shared;
  *stream = configuration.stream;
  return cudaSuccess;
}
}

PLAYED_RUNTIME(__cudaGetKernel, (cudaKernel_t * kernel, const void* host),
               answer(kernel, reinterpret_cast<cudaKernel_t>(&function_by(host))))
PLAYED_RUNTIME(cudaLaunchKernel,
               (const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                cudaStream_t stream),
               launch(function_by(host), shape_of(grid, block, shared, stream), arguments))
PLAYED_CALL(cudaError_t, __cudaLaunchKernel,
            (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
             cudaStream_t stream),
            cudaLaunchKernel(kernel, grid, block, arguments, shared, stream))
PLAYED_CALL(cudaError_t, cudaLaunchKernelExC,
            (const cudaLaunchConfig_t* config, const void* host, void** arguments),
            cudaLaunchKernel(host, config->gridDim, config->blockDim, arguments,
                             config->dynamicSmemBytes, config->stream))

PLAYED_RUNTIME(cudaFuncSetAttribute, (const void* host, cudaFuncAttribute attribute, int value),
               function_by(host).set_attribute(static_cast<CUfunction_attribute>(attribute), value))
PLAYED_RUNTIME(cudaFuncGetAttributes, (cudaFuncAttributes * is, const void* host),
               describe(is, function_by(host)))
PLAYED_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
               (int* blocks, const void* host, int threads, std::size_t shared, unsigned),
               function_by(host).occupancy(blocks, threads, shared))
PLAYED_CALL(cudaError_t, cudaOccupancyMaxActiveBlocksPerMultiprocessor,
            (int* blocks, const void* host, int threads, std::size_t shared),
            cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared,
                                                                   0))

}  // namespace played
