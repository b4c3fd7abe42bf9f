#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
/// The driver is of that version from now on, older than what the runtime needs.
void set_old_driver(int version);
/// While it lives, the GPU fails in a kernel: with the next one that is launched, which nobody sees
/// before the call behind it, and for good, as after an illegal access to memory; else until the
/// host has waited for it.
class Fault {
 public:
  explicit Fault(bool for_good = true);
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  ~Fault();
};

/// What recording an event takes on its stream.
void set_event_cost(double ms = 0);
/// Kernels launched so far, and kernels, copies and fills that graphs ran.
[[nodiscard]] std::uint64_t launches();
/// Graphs launched so far, and captures that failed.
[[nodiscard]] std::uint64_t graph_launches();
[[nodiscard]] std::uint64_t failed_captures();
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
  std::uint64_t for_event = 0;
};
/// How often the host has waited so far.
[[nodiscard]] Waits waits();
/// What the GPU still has to do now, the longest of its streams.
[[nodiscard]] double busy_ms();

/// A kernel of the driver's module: understudy_note and understudy_wait as stream_span_ptx.h has
/// them; others take what a kernel takes. The status.
[[nodiscard]] int launch_of_module(const char* kernel, void** arguments, void* stream);

/// What was issued to a stream: a kernel, copy or fill; a record of an event; a wait for one.
struct Issued {
  enum class Kind { kWork, kRecord, kWait };
  Kind kind = Kind::kWork;
  const void* stream = nullptr;
  const void* event = nullptr;
};
/// From now on it goes there, in order; null: nowhere.
void keep_issues(std::vector<Issued>* issues);

/// A launch by cuLaunchKernelEx, as the driver was asked for it.
struct KernelLaunch {
  std::string function;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  std::vector<std::uint64_t> arguments;  ///< as many bytes of each as it has
  std::vector<std::pair<int, std::array<unsigned, 3>>> attributes;  ///< CUlaunchAttributeID, value
};
/// The bytes of each parameter of kernels that are launched so: a driver knows them from the cubin.
void set_parameters(std::vector<std::size_t> bytes);
/// Those launches since the last call.
[[nodiscard]] std::vector<KernelLaunch> taken_launches();
/// CUfunction_attribute and value of each cuFuncSetAttribute since the last call.
[[nodiscard]] std::vector<std::pair<int, int>> taken_attributes();
/// Modules that were loaded so far.
[[nodiscard]] std::uint64_t loaded_modules();
/// What cuModuleLoadData answers from now on: 0, or an error.
void set_module_status(int status = 0);

}  // namespace played_cuda

/// What it has spent: a joule for each kernel, sixteen for each copy or fill, as a counter says it
/// that moves every 100 ms. What fake_nvml.cpp says where this library is loaded.
extern "C" unsigned long long played_energy_millijoules();
