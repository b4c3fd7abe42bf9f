#pragma once

#include <atomic>

#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// While it lives, its thread is in this step: a crash on it counts as this step's; a crash on a
/// thread that works for an operator counts as that of the step that began last.
class RunningStep {
 public:
  explicit RunningStep(const Step& step) {
    here_ = &step;
    last_.store(&step, std::memory_order_relaxed);
  }
  ~RunningStep() {
    here_ = nullptr;
    last_.store(nullptr, std::memory_order_relaxed);
  }
  RunningStep(const RunningStep&) = delete;
  RunningStep& operator=(const RunningStep&) = delete;

  /// Null outside of operators and communications. Safe in a signal handler.
  [[nodiscard]] static const Step* current() {
    return here_ != nullptr ? here_ : last_.load(std::memory_order_relaxed);
  }

 private:
  inline static thread_local const Step* here_ = nullptr;
  inline static std::atomic<const Step*> last_ = nullptr;
};

/// From now on a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) names on standard error the
/// operator that was running, and ends the process with the status of a failed run. Outside of
/// operators the signal does what it did before.
void name_crashes();

/// Writes ", aten::mm, node 5", of what is running, to standard error; nothing between operators
/// and communications. For signal handlers.
void say_running_step();

}  // namespace understudy::replayer
