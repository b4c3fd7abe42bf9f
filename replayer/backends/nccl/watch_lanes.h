#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "et_schema/base/error.h"
#include "lane.h"

namespace understudy::backends {

/// Watches lanes from a thread of its own, because a host that waits for a device cannot. If a lane
/// makes no progress within the time limit, or NCCL reports a failure, all lanes are aborted. The
/// host then continues and gets the error.
class LaneWatch {
 public:
  LaneWatch(const CudaDriver& cuda, const NcclLibrary& nccl, int world_rank, double time_limit_s);
  LaneWatch(const LaneWatch&) = delete;
  LaneWatch& operator=(const LaneWatch&) = delete;
  ~LaneWatch();

  /// Watches `lane`, which must outlive this object.
  void add(Lane& lane);
  void set_time_limit(double seconds) { time_limit_s_ = seconds; }
  /// Throws Error (failed) once a failure was found.
  void check() const;
  /// Scope of NCCL calls on lanes by the issuing thread. No abort happens within it, because NCCL
  /// frees what it aborts. The exception is a call that itself waits for the device for long: only
  /// an abort can end it.
  class Calls {
   public:
    /// Throws as check() does.
    explicit Calls(const LaneWatch& watch) : watch_(watch) { watch_.begin_calls(); }
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;
    ~Calls() { watch_.is_in_calls_ = false; }

   private:
    const LaneWatch& watch_;
  };
  /// Waits until NCCL accepts the next call on the lane and the work of the last one is issued.
  /// Throws as check() does, also if the wait exceeds the time limit.
  void wait_until_ready(const Lane& lane);
  /// Aborts all lanes, as if a failure had been found.
  void interrupt();

 private:
  using Clock = std::chrono::steady_clock;

  struct Watched {
    Lane* lane = nullptr;
    std::uint64_t calls = 0;  ///< at the last look
    std::optional<Clock::time_point> still_since;
  };

  void begin_calls() const;
  void run();
  /// Returns the failure of the lane; nothing if there is none.
  [[nodiscard]] std::optional<et_schema::Error> look(Watched& watched, Clock::time_point now) const;
  void fail(et_schema::Error error);

  const CudaDriver& cuda_;
  const NcclLibrary& nccl_;
  const CudaContext context_;
  const int world_rank_;
  std::atomic<double> time_limit_s_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::vector<Watched> lanes_;
  std::optional<et_schema::Error> found_;
  std::atomic<bool> has_found_ = false;
  mutable std::atomic<bool> is_in_calls_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace understudy::backends
