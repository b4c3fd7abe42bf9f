#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The played card (capture/played) as one that takes time, counts and fails, for programs that
/// load this library with it. Each stream has a clock: a kernel begins 2 µs after its launch at the
/// earliest, or when the one before it has ended, and takes 3 µs; LibTorch's spinning kernel takes
/// the clocks that it is asked for, at 2 GHz; copies take their bytes' time. Waits and events go by
/// these clocks. The variable PLAYED_LAUNCHES names a file that launches of cubins are added to, a
/// JSON line each.
namespace timed_card {

inline constexpr double kKernelMs = 0.003;
inline constexpr std::size_t kUsualMemory = std::size_t{80} << 30U;

/// Plays an H100 of so much memory, as from the start.
void use(std::size_t memory_bytes = kUsualMemory);

/// While it lives, the card fails in a kernel: with the next one that is launched, which nobody
/// sees before the call behind it, and for good, as after an illegal access to memory; else until
/// the host has waited for it.
class Fault {
 public:
  explicit Fault(bool for_good = true);
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  ~Fault();
};

/// While it lives, time stands still but where the host waits for the card, however long the test
/// takes.
class StoppedClock {
 public:
  StoppedClock();
  StoppedClock(const StoppedClock&) = delete;
  StoppedClock& operator=(const StoppedClock&) = delete;
  ~StoppedClock();
};

/// What recording an event takes on its stream.
void set_event_cost(double ms = 0);
/// How often the host has called this function of the runtime so far, and it did not fail.
[[nodiscard]] std::uint64_t calls(const std::string& function);
/// What the card still has to do now, the longest of its streams.
[[nodiscard]] double busy_ms();

/// What was issued to a stream: a kernel, copy or fill; a record of an event; a wait for one.
struct Issued {
  enum class Kind { kWork, kRecord, kWait };
  Kind kind = Kind::kWork;
  const void* stream = nullptr;
  const void* event = nullptr;
};
/// From now on it goes there, in order; null: nowhere.
void keep_issues(std::vector<Issued>* issues);

/// A launch of a module's kernel, as the driver was asked for it.
struct KernelLaunch {
  const void* kernel = nullptr;
  std::string function;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned shared_bytes = 0;
  const void* stream = nullptr;
  std::vector<std::uint64_t> arguments;             ///< as many bytes of each as it has
  std::vector<std::array<unsigned, 4>> attributes;  ///< CUlaunchAttributeID, value
};
/// Those launches since the last call.
[[nodiscard]] std::vector<KernelLaunch> taken_launches();

}  // namespace timed_card

/// What it has spent: a joule for each kernel, sixteen for each copy or fill, as a counter says it
/// that moves every 100 ms. What fake_nvml.cpp says where this library is loaded.
extern "C" unsigned long long played_energy_millijoules();
