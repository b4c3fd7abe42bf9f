// The driver's library as LibTorch's CUDA half links it for kernels that it compiles at run time,
// and as Triton's and inductor's launchers do: none of it is asked for here but which context is
// current, which GPU it is, and kernels of modules: the two that hold a stream, and those that a
// program brings along, whose launches it keeps. The variable PLAYED_LAUNCHES names a file that
// launches of cubins are added to, a JSON line each.
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>

#include "answers.h"
#include "et_schema/formats/cubin/cubin.h"
#include "played_cuda.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kFileNotFound = 301;

/// CUdevice_attribute and value, as an H100 has them.
constexpr std::pair<int, int> kAttributes[] = {
    {10, 32},                  // warp size
    {12, 65536},               // registers of a block
    {13, 1'980'000},           // clock in kHz
    {16, 132},                 // multiprocessors
    {36, 2'619'000},           // the memory's clock in kHz
    {37, 5120},                // its width in bits
    {75, 9},         {76, 0},  // compute capability
    {81, 233472},              // shared memory of a multiprocessor
    {97, 232448},              // of a block that asks for it
};
constexpr std::pair<int, int> kFunctionAttributes[] = {
    {0, 1024},  // threads of a block at most
    {4, 32},    // registers
};

template <std::size_t Count>
int answer(const std::pair<int, int> (&known)[Count], int attribute, int* value) {
  const auto* const found = std::ranges::find(known, attribute, &std::pair<int, int>::first);
  *value = found == std::end(known) ? 0 : found->second;
  return kSuccess;
}

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

/// A kernel of a module. Whoever got it never gives it back.
struct Function {
  std::string name;
  bool is_of_cubin = false;
  std::vector<std::size_t> parameter_bytes;
};

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

/// The whole of an ELF file that a pointer alone tells of: it ends with its last table or section.
std::string_view elf_at(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  std::size_t end = std::max(header.e_shoff + std::size_t{header.e_shnum} * sizeof(Elf64_Shdr),
                             header.e_phoff + std::size_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * sizeof section, sizeof section);
    end = std::max<std::size_t>(
        end, section.sh_offset + (section.sh_type == SHT_NOBITS ? 0 : section.sh_size));
  }
  return {image, end};
}

std::unique_ptr<Function> function_of(const char* image, const char* name) {
  auto function = std::make_unique<Function>();
  function->name = name;
  function->is_of_cubin = std::string_view(image, SELFMAG) == ELFMAG;
  if (function->is_of_cubin) {
    for (const auto& kernel : understudy::et_schema::read_cubin(elf_at(image), "a cubin")) {
      for (const auto& parameter : kernel.parameters) {
        if (kernel.name == name) {
          function->parameter_bytes.push_back(parameter.bytes);
        }
      }
    }
  }
  return function;
}

void write_line(const played_cuda::KernelLaunch& launch) {
  static const char* const path = std::getenv("PLAYED_LAUNCHES");
  if (path == nullptr) {
    return;
  }
  std::vector<std::string> attributes;
  for (const auto& [id, value] : launch.attributes) {
    attributes.push_back(fmt::format("[{}, {}]", id, value));
  }
  static std::ofstream file(path, std::ios::app);
  file << fmt::format(R"({{"function": "{}", "grid": {}, "block": {}, "shared_bytes": {}, )",
                      launch.function, launch.grid, launch.block, launch.shared_bytes)
       << fmt::format(R"("attributes": [{}], "arguments": {}}})", fmt::join(attributes, ", "),
                      launch.arguments)
       << std::endl;
}

int launch(const Config& config, const Function& function, void** arguments) {
  played_cuda::KernelLaunch launch;
  launch.function = function.name;
  std::copy_n(config.grid, 3, launch.grid.begin());
  std::copy_n(config.block, 3, launch.block.begin());
  launch.shared_bytes = config.shared_bytes;
  launch.stream = config.stream;
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    auto& [id, value] = launch.attributes.emplace_back();
    id = config.attributes[i].id;
    std::copy_n(config.attributes[i].value, value.size(), value.begin());
  }
  {
    const std::scoped_lock lock(kept().mutex);
    const auto& sizes = function.is_of_cubin ? function.parameter_bytes : kept().parameter_bytes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::memcpy(&launch.arguments.emplace_back(0), arguments[i], sizes[i]);
    }
    kept().launches.push_back(launch);
    if (function.is_of_cubin) {
      write_line(launch);
    }
  }
  return played_cuda::launch_of_module(launch.function.c_str(), arguments, config.stream);
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
int cuModuleLoadDataEx(void** loaded, const void* image, unsigned, int*, void**) {
  return cuModuleLoadData(loaded, image);
}
int cuModuleLoad(void** loaded, const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return kFileNotFound;
  }
  // A module stays loaded.
  auto image = std::make_unique<std::string>(std::istreambuf_iterator<char>(file),
                                             std::istreambuf_iterator<char>());
  return cuModuleLoadData(loaded, image.release()->c_str());
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  return answer(kAttributes, attribute, value);
}
int cuFuncGetAttribute(int* value, int attribute, void*) {
  return answer(kFunctionAttributes, attribute, value);
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  const std::scoped_lock lock(kept().mutex);
  kept().attributes.emplace_back(attribute, value);
  return kSuccess;
}
/// Tells where the GPU sees the memory of a pointer, which is where it lies.
int cuPointerGetAttribute(const void** value, int, const void* pointer) {
  *value = pointer;
  return kSuccess;
}
int cuCtxGetLimit(std::size_t* value, int) {
  *value = 0;
  return kSuccess;
}
/// The GPU's only context.
/// Without a context LibTorch does not ask whether a stream is captured.
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return kSuccess;
}
int cuCtxGetCurrent(void** context) {
  static int only = 0;
  *context = &only;
  return kSuccess;
}
int cuLaunchKernelEx(const Config* config, void* function, void** arguments, void**) {
  return launch(*config, *static_cast<const Function*>(function), arguments);
}
/// 00112233-4455-6677-8899-aabbccddeeff.
int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  for (int i = 0; i < 16; ++i) {
    bytes[i] = static_cast<unsigned char>(0x11 * i);
  }
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = function_of(static_cast<const char*>(module), name).release();
  return kSuccess;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** arguments, void**) {
  const auto& asked = *static_cast<const Function*>(function);
  if (!asked.is_of_cubin) {
    return played_cuda::launch_of_module(asked.name.c_str(), arguments, stream);
  }
  return launch(
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, nullptr, 0},
      asked, arguments);
}
}

ANSWERS(cuGetErrorString, kSuccess)

extern "C" int cuDriverGetVersion(int* version) {
  *version = 13'000;
  return kSuccess;
}

/// A table of NVIDIA's own, its size before its functions. CUPTI 13.2 calls itself without end
/// where there is none.
extern "C" int cuGetExportTable(const void** table, const void*) {
  static const std::array<const void*, 512> kTable = [] {
    std::array<const void*, 512> made;
    made.fill(reinterpret_cast<const void*>(&cuGetErrorString));
    made.front() = reinterpret_cast<const void*>(sizeof(made));
    return made;
  }();
  *table = kTable.data();
  return kSuccess;
}

ANSWERS(cuDeviceGetPCIBusId, kSuccess)
ANSWERS(cuDeviceGetCount, kSuccess)
ANSWERS(cuCtxSetCurrent, kSuccess)
ANSWERS(cuCtxSetLimit, kSuccess)
ANSWERS(cuDeviceGet, kSuccess)
ANSWERS(cuDevicePrimaryCtxRetain, kSuccess)
ANSWERS(cuFuncSetCacheConfig, kSuccess)
ANSWERS(cuLaunchCooperativeKernel, kSuccess)
ANSWERS(cuLinkAddData_v2, kSuccess)
ANSWERS(cuLinkComplete, kSuccess)
ANSWERS(cuLinkCreate_v2, kSuccess)
ANSWERS(cuModuleUnload, kSuccess)
ANSWERS(cuOccupancyMaxActiveBlocksPerMultiprocessor, kSuccess)
ANSWERS(cuTensorMapEncodeTiled, kSuccess)
