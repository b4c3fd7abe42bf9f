#include "capture/played/driver/launches.h"

#include <atomic>
#include <cstring>

#include "capture/played/driver/card.h"
#include "capture/played/driver/memory.h"
#include "capture/played/driver/streams.h"

namespace played {
namespace {

std::atomic<void (*)(const Launch&)> listener = nullptr;
int run_at_once(const Launch& /*launch*/, const Effect& effect) {
  return effect();
}
std::atomic<Runner> runner = &run_at_once;
std::atomic<unsigned> last_correlation = 0;

void tell(const Launch& launch) {
  if (const auto listens = listener.load()) {
    listens(launch);
  }
}

CUresult run(const Launch& launch, const Effect& effect) {
  return static_cast<CUresult>(runner.load()(launch, effect));
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

CUresult launch(CUfunction function, const CUlaunchConfig& config, void** arguments) {
  return launch(function_of(function), shape_of(config), arguments, &config);
}

/// The address stays readable for who looks for pointers in the arguments of a launch.
CUresult encode(CUtensorMap* map, void* address) {
  *map = {};
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult issue(Launch launch, const Effect& effect) {
  launch.correlation = ++last_correlation;
  launch.device = current_card();
  const auto captured = add_to_capture(static_cast<CUstream>(launch.work.stream), [&] {
    auto node = std::make_shared<Node>(Node{launch.work.name, launch, effect});
    node->launch.work.name = node->name.c_str();
    node->launch.config = nullptr;
    node->launch.arguments = nullptr;
    return node;
  });
  launch.is_captured = captured.has_value();
  tell(launch);
  return captured ? *captured : run(launch, effect);
}

CUresult replay(const Graph& graph, CUstream stream) {
  CUresult result = call("cudaGraphLaunch", stream);
  const unsigned correlation = last_correlation;
  for (const auto& node : graph.nodes) {
    Launch launch = node->launch;
    launch.work.stream = stream;
    launch.correlation = correlation;
    launch.is_replayed = true;
    tell(launch);
    result = result == CUDA_SUCCESS ? run(launch, node->effect) : result;
  }
  return result;
}

CUresult launch(Function& function, Work shape, void** arguments, const CUlaunchConfig* config) {
  const Kernel* const kernel = function.kernel();
  if (kernel == nullptr) {
    return refuse("kernel " + function.name() + ", without machine code for this card,");
  }
  const auto& parameters = kernel->code.parameters;
  if (arguments == nullptr && !parameters.empty()) {
    return refuse("a launch whose arguments are packed");
  }
  if (const CUresult result = function.check(shape.shared, config); result != CUDA_SUCCESS) {
    return result;
  }
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    add_pointers(static_cast<const char*>(arguments[i]), parameters[i], pointers);
  }
  shape.name = function.name().c_str();
  return issue({.work = shape, .code = &kernel->code, .config = config, .arguments = arguments},
               writing(std::move(pointers)));
}

CUresult call(const char* function, const void* stream, long long* event_ns) {
  Launch launch{.correlation = ++last_correlation, .device = current_card()};
  launch.work.kind = Kind::kCall;
  launch.work.name = function;
  launch.work.stream = const_cast<void*>(stream);
  launch.work.event_ns = event_ns;
  launch.is_captured = capture_of(static_cast<CUstream>(launch.work.stream)) != nullptr;
  tell(launch);
  return run(launch, [] { return CUDA_SUCCESS; });
}

PLAYED_DRIVER(cuLaunchKernel,
              (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
               CUstream stream, void** arguments, void**),
              launch(function,
                     {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, nullptr,
                      0},
                     arguments))
PLAYED_DRIVER(cuLaunchKernelEx,
              (const CUlaunchConfig* config, CUfunction function, void** arguments, void**),
              launch(function, *config, arguments))
PLAYED_DRIVER(cuTensorMapEncodeTiled,
              (CUtensorMap * map, CUtensorMapDataType, cuuint32_t, void* address, const cuuint64_t*,
               const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
               CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill),
              encode(map, address))

}  // namespace played

void played_listen(void (*listener)(const played::Launch&)) {
  played::listener = listener;
}

void played_run_by(played::Runner runner) {
  played::runner = runner;
}

void played_issue(const played::Work* work) {
  // Not in braces, which would be a list of these two pointers themselves.
  played::issue({.work = *work}, played::writing(std::vector<const void*>(
                                     work->written, work->written + work->written_count)));
}
