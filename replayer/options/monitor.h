#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace understudy::replayer {

/// Phases of a replay, in order.
enum class Phase : std::uint8_t {
  kTensors,       ///< makes the tensors that exist before the step
  kTrial,         ///< the checked first iteration, instruction by instruction
  kValues,        ///< measures how long values stay healthy, and learns the heap
  kWarmUp,        ///< unmeasured iterations
  kIterations,    ///< measured iterations
  kTimingPasses,  ///< passes that time each operator
  kSustained,     ///< each operator for seconds
  kCounterPasses  ///< passes that count what processors and devices do
};
/// Returns "trial", "warm-up", ….
[[nodiscard]] const char* to_string(Phase phase);

/// Progress within a phase. `done` counts instructions in kTrial and kSustained, iterations in all
/// other phases.
struct PhaseProgress {
  Phase phase = Phase::kTensors;
  std::size_t done = 0;
  std::optional<std::size_t> total = {};  ///< upper bound of `done`
  std::optional<double> left_s = {};      ///< upper bound of the time left
};

/// Receives a replay's progress, and can stop it.
struct Monitor {
  /// Called at the start of each phase and between its iterations, never inside of a timed one.
  std::function<void(const PhaseProgress&)> progress = [](const PhaseProgress&) {};
  /// The number of the signal that ends the measurement; 0 until then. Checked once measured
  /// iterations have begun: before each instruction if one rank runs alone, else after each
  /// iteration, since other ranks may wait in it. If null, nothing is checked.
  const std::atomic<int>* stop_signal = nullptr;
  [[nodiscard]] int signal() const { return stop_signal == nullptr ? 0 : stop_signal->load(); }
};

/// Thrown between two instructions to abandon an iteration. Not a std::exception, because nothing
/// has failed.
struct Interrupted {};

}  // namespace understudy::replayer
