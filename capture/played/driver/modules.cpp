#include "capture/played/driver/modules.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "capture/played/call.h"
#include "capture/played/driver/card.h"
#include "capture/played/driver/launches.h"
#include "capture/played/driver/memory.h"

namespace played {
namespace {

// A multiprocessor of any card since Ampere.
constexpr int kWarpThreads = 32;
constexpr int kMostWarps = 64;
constexpr int kMostBlocks = 32;
constexpr int kRegisters = 65536;
constexpr int kRegistersTogether = 256;  // that a warp gets at once
constexpr int kSharedTogether = 128;
constexpr int kReservedShared = 1024;  // of each block, for the driver
constexpr int kMostShared = 49152;     // of a block that does not ask for more

int architecture() {
  return card().major * 10 + card().minor;
}

int rounded_up(int value, int step) {
  return (value + step - 1) / step * step;
}

CUresult load(CUmodule* module, const void* image, bool is_copied) {
  *module = reinterpret_cast<CUmodule>(new Module(static_cast<const char*>(image), is_copied));
  return CUDA_SUCCESS;
}

CUresult load_file(CUmodule* module, const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return CUDA_ERROR_FILE_NOT_FOUND;
  }
  const std::string image(std::istreambuf_iterator<char>(file), {});
  return load(module, image.c_str(), true);
}

CUresult find(CUfunction* found, CUmodule module, const char* name) {
  auto function = std::make_unique<Function>(name, module_of(module));
  if (function->kernel() == nullptr) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *found = reinterpret_cast<CUfunction>(function.release());
  return CUDA_SUCCESS;
}

CUresult tell_occupancy(int* blocks, CUfunction function, int threads, std::size_t shared) {
  *blocks = function_of(function).occupancy(threads, shared);
  return CUDA_SUCCESS;
}

CUresult set(CUfunction function, CUfunction_attribute attribute, int value) {
  function_of(function).set_attribute(attribute, value);
  return CUDA_SUCCESS;
}

}  // namespace

Module::Module(const char* image, bool is_copied) : image_(image) {
  const std::size_t bytes = is_copied ? bytes_of_image(image) : 0;
  if (bytes != 0) {
    copy_.assign(image, bytes);
    image_ = copy_.data();
  }
}

const Kernels& Module::kernels() {
  const std::scoped_lock lock(mutex_);
  if (!is_read_) {
    is_read_ = true;
    kernels_ = read_kernels(image_, architecture());
  }
  return kernels_;
}

void* Module::variable(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  void*& variable = variables_[name];
  if (variable == nullptr) {
    variable = take_uncounted(kVariableBytes);
  }
  return variable;
}

const Kernel* Function::kernel() {
  if (kernel_ == nullptr) {
    const Kernels& kernels = module_.kernels();
    const auto found = kernels.find(name_);
    kernel_ = found == kernels.end() ? nullptr : &found->second;
  }
  return kernel_;
}

CUresult Function::attribute(int* value, CUfunction_attribute attribute) {
  const Kernel* const is = kernel();
  if (is == nullptr) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  const int most_threads = static_cast<int>(is->code.most_threads);
  const int shared = static_cast<int>(is->code.static_shared);
  const std::map<int, int> facts = {
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, most_threads == 0 ? 1024 : most_threads},
      {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, shared},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, static_cast<int>(is->code.registers)},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, is->architecture},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, is->architecture},
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kMostShared - shared},
      {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1},
      {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0},
      {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 0},
  };
  const std::map<int, int>& set = set_;
  for (const auto* table : {&set, &facts}) {
    const auto found = table->find(attribute);
    if (found != table->end()) {
      *value = found->second;
      return CUDA_SUCCESS;
    }
  }
  played_refuse(("attribute " + std::to_string(attribute) + " of a kernel is not played").c_str());
  return CUDA_ERROR_NOT_SUPPORTED;
}

int Function::occupancy(int threads, std::size_t dynamic_shared) {
  const Kernel* const is = kernel();
  const int warps = std::max(1, rounded_up(threads, kWarpThreads) / kWarpThreads);
  const int registers = is == nullptr ? 0 : static_cast<int>(is->code.registers);
  const int of_a_warp = std::max(1, rounded_up(registers * kWarpThreads, kRegistersTogether));
  const int static_shared = is == nullptr ? 0 : static_cast<int>(is->code.static_shared);
  const int shared = rounded_up(static_cast<int>(dynamic_shared) + static_shared + kReservedShared,
                                kSharedTogether);
  // Registers are of a multiprocessor's four parts, each of which runs whole warps.
  const int by_registers = kRegisters / of_a_warp / 4 * 4 / warps;
  return std::min(
      {kMostWarps / warps, by_registers, card().shared_per_multiprocessor / shared, kMostBlocks});
}

}  // namespace played

PLAYED_CALL(CUresult, cuModuleLoad, (CUmodule * module, const char* path),
            played::load_file(module, path))
PLAYED_CALL(CUresult, cuModuleLoadData, (CUmodule * module, const void* image),
            played::load(module, image, true))
PLAYED_CALL(CUresult, cuModuleLoadDataEx,
            (CUmodule * module, const void* image, unsigned, CUjit_option*, void**),
            played::load(module, image, true))
PLAYED_CALL(CUresult, cuModuleUnload, (CUmodule), CUDA_SUCCESS)
PLAYED_CALL(CUresult, cuModuleGetFunction, (CUfunction * found, CUmodule module, const char* name),
            played::find(found, module, name))
PLAYED_CALL(CUresult, cuFuncGetAttribute,
            (int* value, CUfunction_attribute attribute, CUfunction function),
            played::function_of(function).attribute(value, attribute))
PLAYED_CALL(CUresult, cuFuncSetAttribute,
            (CUfunction function, CUfunction_attribute attribute, int value),
            played::set(function, attribute, value))
PLAYED_CALL(CUresult, cuFuncSetCacheConfig, (CUfunction, CUfunc_cache), CUDA_SUCCESS)
PLAYED_CALL(CUresult, cuKernelGetAttribute,
            (int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice),
            cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel)))
PLAYED_CALL(CUresult, cuOccupancyMaxActiveBlocksPerMultiprocessor,
            (int* blocks, CUfunction function, int threads, std::size_t shared),
            played::tell_occupancy(blocks, function, threads, shared))
