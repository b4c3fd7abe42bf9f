// The driver's library as LibTorch's CUDA half links it for kernels that it compiles at run time:
// none of it is asked for here but which context is current, which GPU it is, and kernels of
// modules: the two that hold a stream, and those that a program brings along, whose launches it
// keeps.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "answers.h"
#include "played_cuda.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kMajor = 75;
constexpr int kMinor = 76;

// CUlaunchConfig and CUlaunchAttribute of cuda.h.
struct Attribute {
  int id;
  alignas(8) unsigned value[16];
};
struct Config {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  const Attribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(Attribute) == 72 && sizeof(Config) == 56);

struct Kept {
  std::mutex mutex;
  std::vector<std::size_t> parameter_bytes;
  std::vector<played_cuda::KernelLaunch> launches;
  std::vector<std::pair<int, int>> attributes;
  std::uint64_t modules = 0;
  int module_status = kSuccess;
};
Kept& kept() {
  static Kept all;
  return all;
}

}  // namespace

namespace played_cuda {

void set_parameters(std::vector<std::size_t> bytes) {
  const std::scoped_lock lock(kept().mutex);
  kept().parameter_bytes = std::move(bytes);
}
std::vector<KernelLaunch> taken_launches() {
  const std::scoped_lock lock(kept().mutex);
  return std::exchange(kept().launches, {});
}
std::vector<std::pair<int, int>> taken_attributes() {
  const std::scoped_lock lock(kept().mutex);
  return std::exchange(kept().attributes, {});
}
std::uint64_t loaded_modules() {
  const std::scoped_lock lock(kept().mutex);
  return kept().modules;
}
void set_module_status(int status) {
  const std::scoped_lock lock(kept().mutex);
  kept().module_status = status;
}

}  // namespace played_cuda

extern "C" {
int cuModuleLoadData(void** loaded, const void* image) {
  const std::scoped_lock lock(kept().mutex);
  *loaded = const_cast<void*>(image);
  ++kept().modules;
  return kept().module_status;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == kMajor ? 9 : attribute == kMinor ? 0 : *value;
  return kSuccess;
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  const std::scoped_lock lock(kept().mutex);
  kept().attributes.emplace_back(attribute, value);
  return kSuccess;
}
int cuLaunchKernelEx(const Config* config, void* function, void** arguments, void**) {
  played_cuda::KernelLaunch launch;
  launch.function = static_cast<const char*>(function);
  std::copy_n(config->grid, 3, launch.grid.begin());
  std::copy_n(config->block, 3, launch.block.begin());
  launch.shared_bytes = config->shared_bytes;
  launch.stream = config->stream;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    auto& [id, value] = launch.attributes.emplace_back();
    id = config->attributes[i].id;
    std::copy_n(config->attributes[i].value, value.size(), value.begin());
  }
  {
    const std::scoped_lock lock(kept().mutex);
    for (std::size_t i = 0; i < kept().parameter_bytes.size(); ++i) {
      std::memcpy(&launch.arguments.emplace_back(0), arguments[i], kept().parameter_bytes[i]);
    }
    kept().launches.push_back(launch);
  }
  return played_cuda::launch_of_module(launch.function.c_str(), arguments, config->stream);
}
/// 00112233-4455-6677-8899-aabbccddeeff.
int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  for (int i = 0; i < 16; ++i) {
    bytes[i] = static_cast<unsigned char>(0x11 * i);
  }
  return kSuccess;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = strdup(name);
  return kSuccess;
}
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void* stream, void** arguments, void**) {
  return played_cuda::launch_of_module(static_cast<const char*>(function), arguments, stream);
}
}

ANSWERS(cuCtxGetCurrent, kSuccess)
ANSWERS(cuCtxSetCurrent, kSuccess)
ANSWERS(cuDeviceGet, kSuccess)
ANSWERS(cuDevicePrimaryCtxGetState, kSuccess)
ANSWERS(cuDevicePrimaryCtxRetain, kSuccess)
ANSWERS(cuFuncGetAttribute, kSuccess)
ANSWERS(cuFuncSetCacheConfig, kSuccess)
ANSWERS(cuGetErrorString, kSuccess)
ANSWERS(cuLaunchCooperativeKernel, kSuccess)
ANSWERS(cuLinkAddData_v2, kSuccess)
ANSWERS(cuLinkComplete, kSuccess)
ANSWERS(cuLinkCreate_v2, kSuccess)
ANSWERS(cuModuleLoad, kSuccess)
ANSWERS(cuModuleLoadDataEx, kSuccess)
ANSWERS(cuModuleUnload, kSuccess)
ANSWERS(cuOccupancyMaxActiveBlocksPerMultiprocessor, kSuccess)
ANSWERS(cuPointerGetAttribute, kSuccess)
ANSWERS(cuTensorMapEncodeTiled, kSuccess)
