#include "capture/played/driver/launches.h"

#include <atomic>
#include <cstring>

#include "capture/played/driver/card.h"
#include "capture/played/driver/memory.h"
#include "capture/played/driver/streams.h"

namespace played {
namespace {

std::atomic<void (*)(const Launch&)> listener = nullptr;
std::atomic<unsigned> last_correlation = 0;

void tell(const Work& work, const Kernel* kernel, Launch launch) {
  const auto listens = listener.load();
  if (listens == nullptr) {
    return;
  }
  launch.work = work;
  launch.device = current_card();
  if (kernel != nullptr) {
    launch.registers = static_cast<int>(kernel->code.registers);
    launch.static_shared = static_cast<int>(kernel->code.static_shared);
  }
  listens(launch);
}

/// The words of an argument that point into memory of the card, or of the host that it reaches.
void add_pointers(const char* argument, CubinParameter at, std::vector<const void*>& pointers) {
  constexpr std::size_t kWord = sizeof(void*);
  const std::size_t first = (kWord - at.offset % kWord) % kWord;
  for (std::size_t offset = first; offset + kWord <= at.bytes; offset += kWord) {
    const void* word = nullptr;
    std::memcpy(&word, argument + offset, kWord);
    if (block_at(word)) {
      pointers.push_back(word);
    }
  }
}

/// What work does that writes where pointers point.
Effect writing(std::vector<const void*> pointers) {
  return [pointers = std::move(pointers)] {
    change_knowledge([&](Knowledge& knowledge) {
      for (const void* pointer : pointers) {
        knowledge.write(reinterpret_cast<std::uintptr_t>(pointer));
      }
    });
    return CUDA_SUCCESS;
  };
}

Work shape_of(const CUlaunchConfig& config) {
  return {.grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
          .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
          .shared = config.sharedMemBytes,
          .stream = config.hStream};
}

/// The address stays readable for who looks for pointers in the arguments of a launch.
CUresult encode(CUtensorMap* map, void* address) {
  *map = {};
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult issue(const Work& work, const Kernel* kernel, const Effect& effect) {
  const bool is_captured = add_to_capture(static_cast<CUstream>(work.stream), [&] {
    auto node = std::make_shared<Node>(Node{work.name, work, kernel, effect});
    node->work.name = node->name.c_str();
    return node;
  });
  tell(work, kernel, {.correlation = ++last_correlation, .is_captured = is_captured});
  return is_captured ? CUDA_SUCCESS : effect();
}

CUresult replay(const Graph& graph, CUstream stream) {
  const Launch launch{.correlation = ++last_correlation, .is_replayed = true};
  tell({.kind = Kind::kCall, .name = "cudaGraphLaunch"}, nullptr,
       {.correlation = launch.correlation});
  CUresult result = CUDA_SUCCESS;
  for (const auto& node : graph.nodes) {
    Work work = node->work;
    work.stream = stream;
    tell(work, node->kernel, launch);
    result = result == CUDA_SUCCESS ? node->effect() : result;
  }
  return result;
}

CUresult launch(Function& function, Work shape, void** arguments) {
  const Kernel* const kernel = function.kernel();
  if (kernel == nullptr) {
    return refuse("kernel " + function.name() + ", without machine code for this card,");
  }
  const auto& parameters = kernel->code.parameters;
  if (arguments == nullptr && !parameters.empty()) {
    return refuse("a launch whose arguments are packed");
  }
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    add_pointers(static_cast<const char*>(arguments[i]), parameters[i], pointers);
  }
  shape.name = function.name().c_str();
  return issue(shape, kernel, writing(std::move(pointers)));
}

CUresult call(const char* function) {
  tell({.kind = Kind::kCall, .name = function}, nullptr, {.correlation = ++last_correlation});
  return CUDA_SUCCESS;
}

PLAYED_DRIVER(cuLaunchKernel,
              (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
               CUstream stream, void** arguments, void**),
              launch(function_of(function),
                     {.grid = {grid_x, grid_y, grid_z},
                      .block = {block_x, block_y, block_z},
                      .shared = shared,
                      .stream = stream},
                     arguments))
PLAYED_DRIVER(cuLaunchKernelEx,
              (const CUlaunchConfig* config, CUfunction function, void** arguments, void**),
              launch(function_of(function), shape_of(*config), arguments))
PLAYED_DRIVER(cuTensorMapEncodeTiled,
              (CUtensorMap * map, CUtensorMapDataType, cuuint32_t, void* address, const cuuint64_t*,
               const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
               CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill),
              encode(map, address))

}  // namespace played

void played_listen(void (*listener)(const played::Launch&)) {
  played::listener = listener;
}

void played_issue(const played::Work* work) {
  // Not in braces, which would be a list of these two pointers themselves.
  played::issue(*work, nullptr,
                played::writing(
                    std::vector<const void*>(work->written, work->written + work->written_count)));
}
