#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "et_schema/model/program.h"
#include "hooks.h"
#include "replayer/bind/bound.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// Recorded threads that ran beside others (RecordedThreads), without those that communicate, since
/// a backend is called from one thread. In order of first use.
[[nodiscard]] std::vector<std::uint64_t> overlapping_threads(const et_schema::Program& program);

/// What a step must wait for: so many steps of another thread.
struct StepBarrier {
  std::uint32_t thread = 0;
  std::uint32_t steps_done = 0;
};

/// The steps of a bound program by thread. Each thread keeps the program's order; between threads
/// the order holds for steps that touch the same memory, unless both only read an external.
struct ThreadPlan {
  struct Entry {
    std::uint32_t step = 0;
    std::uint32_t barriers_begin = 0;
    std::uint32_t barriers_end = 0;
  };
  std::vector<std::vector<Entry>> threads;  ///< the first is the caller's
  std::vector<StepBarrier> barriers;
};

/// `own`: recorded threads that get a thread each; all other steps stay with the caller.
[[nodiscard]] ThreadPlan plan_threads(const et_schema::Program& program, const BoundProgram& bound,
                                      const std::vector<std::uint64_t>& own);

/// Runs iterations with some steps on threads of their own. The threads live as long as this does.
class OwnThreads {
 public:
  /// Each thread gets a copy of `issue`.
  OwnThreads(BoundProgram& bound, Machine& machine, const IssueHook& issue, ThreadPlan plan);
  ~OwnThreads();
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;

  /// One iteration; `issue` is the caller's hook. What an operator throws first comes out as it is,
  /// after all threads have stopped, a caller that waits in the backend too; the machine's
  /// failed_step() is that operator's.
  void run(IssueHook& issue);
  /// The hooks of the threads beside the caller's.
  [[nodiscard]] std::vector<IssueHook*> hooks();

 private:
  struct Worker {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<IssueHook> hook;
    std::thread thread;
  };
  static constexpr std::size_t kCacheLine = 64;
  struct alignas(kCacheLine) Progress {
    std::atomic<std::uint32_t> steps{0};
  };

  void serve(std::size_t thread);
  void run_thread(std::size_t thread, Machine& machine, IssueHook& hook);
  void wait_for(const StepBarrier& barrier) const;
  /// Keeps the exception under way, if it is the first, as what ends the iteration.
  void fail(const Machine& machine);

  BoundProgram& bound_;
  Machine& machine_;
  ThreadPlan plan_;
  std::vector<Worker> workers_;              ///< thread i + 1 of the plan
  std::unique_ptr<Progress[]> progress_;     ///< by thread: steps done in this iteration
  std::atomic<std::uint64_t> iteration_{0};  ///< counts up to start the threads
  std::atomic<std::uint32_t> running_{0};    ///< threads beside the caller's that have not ended
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;         ///< the first
  const Step* failed_step_ = nullptr;  ///< whose it is
  std::atomic<bool> leaving_{false};
};

}  // namespace understudy::replayer
