#pragma once

#include <atomic>

#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Marks the step that this thread runs. A crash on this thread is attributed to the step; a crash
/// on an operator's worker thread is attributed to the step that began last.
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

  /// Returns null outside of operators and communications. Safe in a signal handler.
  [[nodiscard]] static const Step* current() {
    return here_ != nullptr ? here_ : last_.load(std::memory_order_relaxed);
  }

 private:
  inline static thread_local const Step* here_ = nullptr;
  inline static std::atomic<const Step*> last_ = nullptr;
};

/// Installs crash handlers (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) that write the running
/// operator to standard error and end the process with the status of a failed run; of bad input if
/// the operator accessed memory that is not there. Outside of operators a signal has its previous
/// effect.
void name_crashes();

/// Writes the running operator, ", aten::mm, node 5", to standard error; writes nothing between
/// operators and communications. Safe in a signal handler.
void say_running_step();

}  // namespace understudy::replayer
