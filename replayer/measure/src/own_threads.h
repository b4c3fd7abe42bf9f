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

/// Returns recorded threads that ran concurrently (RecordedThreads), ordered by first use. Excludes
/// threads that communicate, since a backend is called from one thread.
[[nodiscard]] std::vector<std::uint64_t> overlapping_threads(const et_schema::Program& program);

/// A step waits until `thread` has done this many steps.
struct StepBarrier {
  std::uint32_t thread = 0;
  std::uint32_t steps_done = 0;
};

/// The steps of a bound program by thread. Each thread keeps the program's order. Between threads,
/// steps on the same memory keep their order, unless both only read an external and neither uses a
/// view that the other made.
struct ThreadPlan {
  struct Entry {
    std::uint32_t step = 0;
    std::uint32_t barriers_begin = 0;
    std::uint32_t barriers_end = 0;
  };
  std::vector<std::vector<Entry>> threads;  ///< the first is the caller's thread
  std::vector<StepBarrier> barriers;
};

/// `own`: recorded threads that get their own thread; all other steps run on the caller's.
[[nodiscard]] ThreadPlan plan_threads(const et_schema::Program& program, const BoundProgram& bound,
                                      const std::vector<std::uint64_t>& own);

/// Runs iterations with some steps on their own threads, which live as long as this object.
class OwnThreads {
 public:
  /// Each thread gets a copy of `issue`.
  OwnThreads(BoundProgram& bound, Machine& machine, const IssueHook& issue, ThreadPlan plan);
  ~OwnThreads();
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;

  /// Runs one iteration; `issue` is the caller's hook. Rethrows an operator's first exception
  /// unchanged after all threads have stopped, a caller that waits in the backend included. The
  /// machine's failed_step() is then that operator's.
  void run(IssueHook& issue);
  /// Returns the hooks of all threads but the caller's.
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
  /// Stores the current exception if it is the first; it ends the iteration.
  void fail(const Machine& machine);

  BoundProgram& bound_;
  Machine& machine_;
  ThreadPlan plan_;
  std::vector<Worker> workers_;              ///< thread i + 1 of the plan
  std::unique_ptr<Progress[]> progress_;     ///< by thread: steps done in this iteration
  std::atomic<std::uint64_t> iteration_{0};  ///< incremented to start the threads
  std::atomic<std::uint32_t> running_{0};    ///< threads that have not ended, without the caller's
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;         ///< the first
  const Step* failed_step_ = nullptr;  ///< the step that threw it
  std::atomic<bool> leaving_{false};
};

}  // namespace understudy::replayer
