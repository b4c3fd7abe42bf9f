// What nvcc registers when a library is loaded, and launches.
#include "capture/played/runtime/kernels.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "capture/played/call.h"
#include "capture/played/driver/card.h"
#include "capture/played/driver/launches.h"
#include "capture/played/runtime/note.h"

namespace played {
namespace {

struct Variable {
  Module* module;
  std::string name;
};

/// By the host's stand-ins: its own functions and variables of these names.
struct Registered {
  std::mutex mutex;
  std::unordered_map<const void*, Function*> functions;
  std::unordered_map<const void*, Variable> variables;
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

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  void* stream = nullptr;
};
thread_local Configuration configuration;

CUresult launch_as(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                   cudaStream_t stream) {
  return launch(
      function_by(host),
      {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<unsigned>(shared)},
      stream, arguments);
}

CUresult set(const void* host, cudaFuncAttribute attribute, int value) {
  function_by(host).set_attribute(static_cast<CUfunction_attribute>(attribute), value);
  return CUDA_SUCCESS;
}

CUresult describe(cudaFuncAttributes* is, const void* host) {
  Function& function = function_by(host);
  std::memset(is, 0, sizeof *is);
  int shared = 0;
  CUresult result = function.attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  is->sharedSizeBytes = static_cast<std::size_t>(shared);
  const auto ask = [&](int& to, CUfunction_attribute attribute) {
    if (result == CUDA_SUCCESS) {
      result = function.attribute(&to, attribute);
    }
  };
  ask(is->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  ask(is->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
  ask(is->ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  ask(is->binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  ask(is->maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  ask(is->preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  return result;
}

CUresult tell_occupancy(int* blocks, const void* host, int threads, std::size_t shared) {
  *blocks = function_by(host).occupancy(threads, shared);
  return CUDA_SUCCESS;
}

CUresult tell_kernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(&function_by(host));
  return CUDA_SUCCESS;
}

}  // namespace

void* variable_of(const void* host) {
  const std::scoped_lock lock(registered().mutex);
  const auto found = registered().variables.find(host);
  return found == registered().variables.end() ? nullptr
                                               : found->second.module->variable(found->second.name);
}

}  // namespace played

using played::registered;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(new played::Module(static_cast<const char*>(wrapper), false));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterVar(void** module, char* host, char*, const char* name, int, std::size_t, int,
                       int) {
  const std::scoped_lock lock(registered().mutex);
  registered().variables[host] = {reinterpret_cast<played::Module*>(module), name};
}

void __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const std::scoped_lock lock(registered().mutex);
  registered().functions[host] =
      new played::Function(name, *reinterpret_cast<played::Module*>(module));
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  played::configuration = {grid, block, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = played::configuration.grid;
  *block = played::configuration.block;
  *shared = played::configuration.shared;
  std::memcpy(stream, &played::configuration.stream, sizeof played::configuration.stream);
  return cudaSuccess;
}

PLAYED_RUNTIME(__cudaGetKernel, (cudaKernel_t * kernel, const void* host),
               played::tell_kernel(kernel, host))
PLAYED_RUNTIME(__cudaLaunchKernel,
               (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                cudaStream_t stream),
               played::launch_as(kernel, grid, block, arguments, shared, stream))
}

PLAYED_RUNTIME(cudaLaunchKernel,
               (const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                cudaStream_t stream),
               played::launch_as(host, grid, block, arguments, shared, stream))
PLAYED_RUNTIME(cudaLaunchCooperativeKernel,
               (const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                cudaStream_t stream),
               played::launch_as(host, grid, block, arguments, shared, stream))
PLAYED_RUNTIME(cudaLaunchKernelExC,
               (const cudaLaunchConfig_t* config, const void* host, void** arguments),
               played::launch_as(host, config->gridDim, config->blockDim, arguments,
                                 config->dynamicSmemBytes, config->stream))
PLAYED_RUNTIME(cudaFuncSetAttribute, (const void* host, cudaFuncAttribute attribute, int value),
               played::set(host, attribute, value))
PLAYED_RUNTIME(cudaFuncGetAttributes, (cudaFuncAttributes * is, const void* host),
               played::describe(is, host))
PLAYED_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
               (int* blocks, const void* host, int threads, std::size_t shared),
               played::tell_occupancy(blocks, host, threads, shared))
PLAYED_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
               (int* blocks, const void* host, int threads, std::size_t shared, unsigned),
               played::tell_occupancy(blocks, host, threads, shared))
