#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "group.h"
#include "replayer/backends/interface/communicator.h"
#include "schedule.h"
#include "watch.h"

namespace understudy::backends {

/// A call in progress. The engine's thread and the caller's share it.
struct Operation {
  Call call;
  const Group* group = nullptr;
  std::uint64_t index = 0;  ///< number of the call among those of its kind in the group, from 1
  std::chrono::steady_clock::time_point started;
  std::optional<Schedule> schedule;             ///< set once the call has begun
  std::chrono::steady_clock::time_point ended;  ///< set once the call is done
  std::atomic<bool> done{false};
};

/// Continues transfers from a thread of its own, so that they proceed while the program computes
/// (neither Open MPI nor sockets have progress of their own).
///
/// Only the thread that holds the token calls the wire: the engine's thread, or the caller's thread
/// while it waits for a call. So a call that is waited for at once costs no thread switch. All
/// groups share the thread: nothing in it blocks, so calls of different groups cannot wait for each
/// other. The first failure is kept, and every wait reports it.
class Engine {
 public:
  Engine(Wire& wire, double time_limit_s);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Stops the thread, even if calls are in progress.
  ~Engine();

  /// Hands the call to the engine's thread.
  [[nodiscard]] std::shared_ptr<Operation> start(const Call& call, const Group& group);
  void wait(Operation& operation);
  void run(const Call& call, const Group& group);
  /// Releases a call that nobody will wait for and whose buffers may be freed. If the call is in
  /// progress, this is a failure: no transfer continues afterwards.
  void let_go(const Operation& operation);

  /// Returns the token. While it is held, no other thread calls the wire.
  [[nodiscard]] std::unique_lock<std::timed_mutex> token() { return std::unique_lock(token_); }
  /// As above, for the end of the job: owns nothing if it does not become free within `patience`.
  [[nodiscard]] std::unique_lock<std::timed_mutex> token(std::chrono::milliseconds patience) {
    return {token_, patience};
  }

  /// Makes the engine notice at once if a rank's process ends.
  void watch_processes(std::vector<et_schema::ProcessId> by_rank);
  void set_time_limit(double seconds) { time_limit_s_.store(seconds); }
  void note_progress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  /// Makes calls in progress and later ones fail. May be called from any thread.
  void interrupt();

  /// Returns true if no call is in progress and nothing has failed.
  [[nodiscard]] bool is_idle();

 private:
  [[nodiscard]] std::shared_ptr<Operation> enqueue(const Call& call, const Group& group,
                                                   bool is_waited_for);
  void poll_until(const Operation& operation);
  void work();

  // These must hold the token:
  void take_queue();
  void begin(Operation& operation);
  /// Continues all calls. With `look` it also checks the time limit and other ranks' questions,
  /// which otherwise happens only every few polls. Keeps an exception as the failure.
  void poll(bool look);
  void advance_all();
  void look_around();
  void fail(std::exception_ptr failure);
  [[nodiscard]] Answer answer(const Question& question) const;

  void throw_if_failed();

  Wire& wire_;
  const int world_rank_;
  std::atomic<double> time_limit_s_;
  std::atomic<std::uint64_t> progress_{0};

  std::timed_mutex token_;
  Watch watch_;
  std::map<Line, std::uint64_t> started_;  ///< numbers of calls
  std::vector<std::shared_ptr<Operation>> active_;
  unsigned polls_ = 0;

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<std::shared_ptr<Operation>> queue_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::chrono::steady_clock::time_point naps_until_;
  bool naps_ = false;  ///< the thread looks for calls by itself
  std::atomic<bool> has_queue_{false};
  std::atomic<bool> has_active_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> caller_polls_{false};

  std::thread thread_;
};

}  // namespace understudy::backends
