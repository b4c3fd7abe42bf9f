#include "capture/played/driver/launches.h"

#include <atomic>
#include <cstring>
#include <optional>

#include "capture/played/call.h"
#include "capture/played/driver/card.h"
#include "capture/played/driver/memory.h"
#include "capture/played/driver/streams.h"

namespace played {
namespace {

using Listener = void (*)(const Launch&);

std::atomic<Listener> listener = nullptr;
std::atomic<unsigned> last_correlation = 0;

void tell(const Work& work, const Kernel* kernel, Launch launch) {
  if (const Listener listens = listener.load()) {
    launch.work = work;
    launch.registers = kernel == nullptr ? 0 : static_cast<int>(kernel->code.registers);
    launch.static_shared = kernel == nullptr ? 0 : static_cast<int>(kernel->code.static_shared);
    launch.device = current_card();
    listens(launch);
  }
}

CUresult forget_written(const std::vector<const void*>& written) {
  change_knowledge([&](Knowledge& knowledge) {
    for (const void* pointer : written) {
      knowledge.write(reinterpret_cast<std::uintptr_t>(pointer));
    }
  });
  return CUDA_SUCCESS;
}

/// The words of a kernel's arguments that point into the card's memory.
std::vector<const void*> pointers_in(const Kernel& kernel, void** arguments) {
  std::vector<const void*> pointers;
  const auto& parameters = kernel.code.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (arguments[i] == nullptr) {
      continue;
    }
    const auto [offset, bytes] = parameters[i];
    const std::size_t first = (sizeof(void*) - offset % sizeof(void*)) % sizeof(void*);
    for (std::size_t at = first; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
      const void* pointer = nullptr;
      std::memcpy(&pointer, static_cast<const char*>(arguments[i]) + at, sizeof pointer);
      const auto block = block_at(pointer);
      if (block && !block->is_host) {
        pointers.push_back(pointer);
      }
    }
  }
  return pointers;
}

/// Arguments as `extra` gives them: one after the other in a buffer.
std::vector<void*> arguments_of(const Kernel& kernel, void** extra) {
  std::vector<void*> arguments;
  for (; extra != nullptr && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      for (const auto& parameter : kernel.code.parameters) {
        arguments.push_back(static_cast<char*>(extra[1]) + parameter.offset);
      }
    }
  }
  return arguments;
}

CUresult launch_with(CUfunction function, const Shape& shape, CUstream stream, void** arguments,
                     void** extra) {
  const Kernel* const kernel = function_of(function).kernel();
  if (arguments != nullptr || kernel == nullptr) {
    return launch(function_of(function), shape, stream, arguments);
  }
  std::vector<void*> others = arguments_of(*kernel, extra);
  others.resize(kernel->code.parameters.size());
  return launch(function_of(function), shape, stream, others.data());
}

CUresult launch_with(const CUlaunchConfig& config, CUfunction function, void** arguments,
                     void** extra) {
  return launch_with(function,
                     {{config.gridDimX, config.gridDimY, config.gridDimZ},
                      {config.blockDimX, config.blockDimY, config.blockDimZ},
                      config.sharedMemBytes},
                     config.hStream, arguments, extra);
}

/// The address stays readable for who looks for pointers in the arguments of a launch.
CUresult encode(CUtensorMap* map, void* address) {
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult issue(const Work& work, const Kernel* kernel, const Effect& effect) {
  const auto stream = static_cast<CUstream>(work.stream);
  const bool is_captured = add_to_capture(stream, [&] {
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
  for (const auto& node : graph.nodes) {
    Work work = node->work;
    work.stream = stream;
    tell(work, node->kernel, launch);
    if (const CUresult result = node->effect(); result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

CUresult launch(Function& function, const Shape& shape, CUstream stream, void** arguments) {
  const Kernel* const kernel = function.kernel();
  if (kernel == nullptr) {
    played_refuse(("kernel " + function.name() + " has no machine code for " + card().name +
                   ", and PTX is not compiled")
                      .c_str());
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  Work work{.name = function.name().c_str(), .shared = shape.shared, .stream = stream};
  std::memcpy(work.grid, shape.grid, sizeof work.grid);
  std::memcpy(work.block, shape.block, sizeof work.block);
  return issue(work, kernel,
               [written = pointers_in(*kernel, arguments)] { return forget_written(written); });
}

CUresult call(const char* function) {
  tell({.kind = Kind::kCall, .name = function}, nullptr, {.correlation = ++last_correlation});
  return CUDA_SUCCESS;
}

}  // namespace played

void played_listen(void (*listener)(const played::Launch&)) {
  played::listener = listener;
}

void played_issue(const played::Work* work) {
  const std::vector<const void*> written(work->written, work->written + work->written_count);
  static_cast<void>(
      played::issue(*work, nullptr, [written] { return played::forget_written(written); }));
}

PLAYED_CALL(CUresult, cuLaunchKernel,
            (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
             void** arguments, void** extra),
            played::launch_with(function,
                                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared},
                                stream, arguments, extra))
PLAYED_CALL(CUresult, cuLaunchCooperativeKernel,
            (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
             void** arguments),
            played::launch_with(function,
                                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared},
                                stream, arguments, nullptr))
PLAYED_CALL(CUresult, cuLaunchKernelEx,
            (const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra),
            played::launch_with(*config, function, arguments, extra))
PLAYED_CALL(CUresult, cuTensorMapEncodeTiled,
            (CUtensorMap * map, CUtensorMapDataType, cuuint32_t, void* address, const cuuint64_t*,
             const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
             CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill),
            played::encode(map, address))
