#include "capture/played/driver/modules.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "capture/played/driver/card.h"

namespace played {
namespace {

constexpr int kMostWarps = kThreadsOfMultiprocessor / kWarpThreads;
constexpr int kRegistersTogether = 256;  // that a warp gets at once
constexpr int kSharedTogether = 128;
constexpr unsigned kMostBlocksOfCluster = 16;
constexpr unsigned kBlocksOfAnyCluster = 8;  // that each card with clusters takes

int rounded_up(int value, int step) {
  return (value + step - 1) / step * step;
}

CUresult load(CUmodule* module, std::string image) {
  return answer(module, reinterpret_cast<CUmodule>(new Module(std::move(image))));
}

CUresult load(CUmodule* module, const void* image) {
  const auto* const bytes = static_cast<const char*>(image);
  return load(module, std::string(bytes, bytes_of_image(bytes)));
}

CUresult load_file(CUmodule* module, const char* path) {
  std::ifstream file(path, std::ios::binary);
  return file ? load(module, std::string(std::istreambuf_iterator<char>(file), {}))
              : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult find(CUfunction* function, CUmodule of, const char* name) {
  auto& module = *reinterpret_cast<Module*>(of);
  return module.kernel(name) == nullptr
             ? CUDA_ERROR_NOT_FOUND
             : answer(function, reinterpret_cast<CUfunction>(new Function(name, module)));
}

}  // namespace

const Kernel* Module::kernel(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  if (!is_read_) {
    is_read_ = true;
    kernels_ = read_kernels(image_, card().major * 10 + card().minor);
  }
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}

CUresult Function::attribute(int* value, CUfunction_attribute attribute) {
  const Kernel* const is = kernel();
  if (is == nullptr) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  const int shared = static_cast<int>(is->code.static_shared);
  const int most_threads = static_cast<int>(is->code.most_threads);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return answer(value, most_threads == 0 ? kMostThreads : most_threads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return answer(value, shared);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      if (is->code.registers == 0) {
        return refuse("registers of kernel " + name_ + ", which is PTX,");
      }
      return answer(value, static_cast<int>(is->code.registers));
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return answer(value, is->architecture);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return answer(value, dynamic_shared_ == 0 ? kSharedOfBlock - shared : dynamic_shared_.load());
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return answer(value, 0);  // what it spills is not read
    default:
      return refuse("attribute " + std::to_string(attribute) + " of a kernel");
  }
}

CUresult Function::set_attribute(CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    int shared = 0;
    this->attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    if (value > card().shared_opt_in - shared) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    dynamic_shared_ = value;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    takes_any_cluster_ = value != 0;
  }
  return CUDA_SUCCESS;
}

CUresult Function::check(unsigned shared, const CUlaunchConfig* config) {
  int most_shared = 0;
  attribute(&most_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  if (static_cast<int>(shared) > most_shared) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned most_blocks = takes_any_cluster_ ? kMostBlocksOfCluster : kBlocksOfAnyCluster;
  for (unsigned i = 0; config != nullptr && i < config->numAttrs; ++i) {
    const auto& [dimension, pad, value] = config->attrs[i];
    if (dimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
        value.clusterDim.x * value.clusterDim.y * value.clusterDim.z > most_blocks) {
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult Function::occupancy(int* blocks, int threads, std::size_t dynamic_shared) {
  int registers = 0;
  int shared = 0;
  const CUresult result = attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
  if (result != CUDA_SUCCESS) {
    return result;
  }
  attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  shared = rounded_up(shared + static_cast<int>(dynamic_shared) + kReservedShared, kSharedTogether);
  const int warps = std::max(1, rounded_up(threads, kWarpThreads) / kWarpThreads);
  // Registers are of a multiprocessor's four parts, each of which runs whole warps.
  const int of_a_warp = rounded_up(registers * kWarpThreads, kRegistersTogether);
  const int by_registers = kRegisters / of_a_warp / 4 * 4 / warps;
  return answer(
      blocks, std::min({kMostWarps / warps, by_registers, card().shared_per_multiprocessor / shared,
                        kBlocksOfMultiprocessor}));
}

PLAYED_DRIVER(cuModuleLoad, (CUmodule * module, const char* path), load_file(module, path))
PLAYED_DRIVER(cuModuleLoadData, (CUmodule * module, const void* image), load(module, image))
PLAYED_DRIVER(cuModuleLoadDataEx,
              (CUmodule * module, const void* image, unsigned, CUjit_option*, void**),
              load(module, image))
PLAYED_DRIVER(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name),
              find(function, module, name))
PLAYED_DRIVER(cuFuncGetAttribute, (int* value, CUfunction_attribute attribute, CUfunction function),
              function_of(function).attribute(value, attribute))
PLAYED_DRIVER(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value),
              function_of(function).set_attribute(attribute, value))
PLAYED_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor,
              (int* blocks, CUfunction function, int threads, std::size_t shared),
              function_of(function).occupancy(blocks, threads, shared))

}  // namespace played
