#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace understudy::replayer {

/// What a replay does, in this order.
enum class Phase : std::uint8_t {
  kTensors,       ///< makes the tensors that exist before the step
  kTrial,         ///< the checked first iteration, instruction by instruction
  kValues,        ///< looks for how long values stay healthy, and learns the heap
  kWarmUp,        ///< iterations that are not measured
  kIterations,    ///< the measured ones
  kTimingPasses,  ///< those that time each operator
};
/// "trial", "warm-up", …
[[nodiscard]] const char* to_string(Phase phase);

/// How far a phase is. Of the trial `done` counts instructions, else iterations.
struct PhaseProgress {
  Phase phase = Phase::kTensors;
  std::size_t done = 0;
  std::optional<std::size_t> total = {};  ///< at most so many
  std::optional<double> left_s = {};      ///< at most so long
};

/// Whom a replay tells what it does, and asks whether to go on.
struct Monitor {
  /// Called at the start of each phase and between its iterations, never inside of a timed one.
  std::function<void(const PhaseProgress&)> progress = [](const PhaseProgress&) {};
  /// Not zero from some time on: the number of the signal that is to end the measurement. It is
  /// looked at once measured iterations have begun: before each instruction where one rank runs
  /// alone, else behind each iteration, since other ranks may be waiting in it. Null: nobody asks.
  const std::atomic<int>* stop_signal = nullptr;
  [[nodiscard]] int signal() const { return stop_signal == nullptr ? 0 : stop_signal->load(); }
};

/// Thrown between two instructions of an iteration that is not to be finished. No std::exception:
/// nothing has failed.
struct Interrupted {};

}  // namespace understudy::replayer
