#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/communicator.h"
#include "board.h"
#include "group.h"
#include "reductions.h"
#include "schedule.h"
#include "watch.h"

namespace understudy::backends {

/// A call under way. The engine's thread and the caller's share it.
struct Operation {
  Call call;
  Group* group = nullptr;
  std::uint64_t index = 0;  ///< which call of its kind in the group this is, from 1
  std::chrono::steady_clock::time_point started;
  Schedule schedule;
  std::atomic<bool> done{false};
};

/// Runs non-blocking MPI on a thread of its own, so that transfers get on while the program
/// computes (Open MPI has no progress of its own).
///
/// One thread at a time calls MPI, the one that holds the token: the engine's thread, or the
/// caller's while it waits for a call, so that a call that is waited for at once costs no thread
/// switch. All groups share the thread: nothing in it blocks, so calls of different groups cannot
/// wait for each other. The first failure is kept, and every wait reports it.
class Engine {
 public:
  /// Finds a group by its id, for questions of other ranks; null if there is none yet.
  using GroupFinder = std::function<const Group*(GroupId)>;

  Engine(int world_rank, int tag_limit, MPI_Comm board_comm, Processes processes,
         double time_limit_s, GroupFinder find_group);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Stops the thread, whatever is under way.
  ~Engine();

  /// Hands the call to the engine's thread.
  [[nodiscard]] std::shared_ptr<Operation> start(const Call& call, Group& group);
  void wait(Operation& operation);
  void run(const Call& call, Group& group);
  /// Nobody will wait for the call, whose buffers may go. If it is under way that is a failure:
  /// nothing gets on any more.
  void let_go(const Operation& operation);

  /// Runs `action` while no other thread calls MPI.
  void with_token(const std::function<void()>& action);
  /// The same if the token is free within `patience`, else without it: for the end of the job.
  void with_token_or_without(std::chrono::milliseconds patience,
                             const std::function<void()>& action);

  void set_time_limit(double seconds) { time_limit_s_.store(seconds); }
  void note_progress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  /// Any thread's: calls under way fail, and so do those that come.
  void interrupt();

  /// True if nothing is under way and nothing has failed.
  [[nodiscard]] bool is_idle();

 private:
  [[nodiscard]] std::shared_ptr<Operation> enqueue(const Call& call, Group& group);
  void poll_until(const Operation& operation);
  void work();

  // With the token:
  void take_queue();
  void begin(Operation& operation);
  /// Gets all calls on; `look`: also at the clock and at other ranks' questions, which is done now
  /// and then anyway. Keeps what is thrown as the failure.
  void poll(bool look);
  void advance_all();
  void look_around();
  void fail(std::exception_ptr failure);
  [[nodiscard]] Answer answer(const Question& question) const;

  void throw_if_failed();

  const int world_rank_;
  const int tag_limit_;
  std::atomic<double> time_limit_s_;
  std::atomic<std::uint64_t> progress_{0};
  const GroupFinder find_group_;

  std::timed_mutex token_;
  Reductions reductions_;
  Board board_;
  Watch watch_;
  std::vector<std::shared_ptr<Operation>> active_;
  unsigned polls_ = 0;

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<std::shared_ptr<Operation>> queue_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::atomic<bool> has_queue_{false};
  std::atomic<bool> has_active_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> caller_polls_{false};

  std::thread thread_;
};

}  // namespace understudy::backends
