#pragma once

#include <cstddef>
#include <cstdint>

/// CUDA's runtime and cuBLAS played on a host without a GPU: LibTorch's CUDA half loads, allocates,
/// copies and launches as it does on one, and no kernel computes anything. Each stream has a clock:
/// a kernel begins 2 µs after its launch at the earliest, or when the one before it has ended, and
/// takes 3 µs; LibTorch's spinning kernel takes the clocks that it is asked for, at 2 GHz; copies
/// take their bytes' time. Waits and events go by these clocks.
namespace played_cuda {

inline constexpr double kKernelMs = 0.003;

inline constexpr std::size_t kUsualMemory = std::size_t{80} << 30U;

/// What cudaMalloc can give in all.
void set_memory(std::size_t bytes = kUsualMemory);
/// What recording an event takes on its stream.
void set_event_cost(double ms = 0);
/// Kernels launched so far.
[[nodiscard]] std::uint64_t launches();
/// While it lives, time stands still but where the host waits for the GPU, however long the test
/// takes.
class StoppedClock {
 public:
  StoppedClock();
  StoppedClock(const StoppedClock&) = delete;
  StoppedClock& operator=(const StoppedClock&) = delete;
  ~StoppedClock();
};

struct Waits {
  std::uint64_t for_device = 0;
  std::uint64_t for_stream = 0;
};
/// How often the host has waited so far.
[[nodiscard]] Waits waits();
/// What the GPU still has to do now, the longest of its streams.
[[nodiscard]] double busy_ms();

}  // namespace played_cuda

/// What it has spent: a joule for each kernel, a million for each copy or fill, so that a sum tells
/// how many of each there were. What fake_nvml.cpp says where this library is loaded.
extern "C" unsigned long long played_energy_millijoules();
