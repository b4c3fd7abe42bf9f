#pragma once

#include <atomic>

#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// While it lives, a crash of the process is this step's, on its thread; of threads that work for
/// an operator, that of the step that began last.
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

  /// Null outside of operators. Safe in a signal handler.
  [[nodiscard]] static const Step* current() {
    return here_ != nullptr ? here_ : last_.load(std::memory_order_relaxed);
  }

 private:
  inline static thread_local const Step* here_ = nullptr;
  inline static std::atomic<const Step*> last_ = nullptr;
};

/// From here on a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) says on standard error which
/// operator was under way, and ends the process with the status of a failed run; outside of
/// operators the signal does what it did before.
void name_crashes();

}  // namespace understudy::replayer
