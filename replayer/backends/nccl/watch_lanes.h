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

/// Looks after lanes from a thread of its own, because a host that waits for a device cannot: one
/// that stands still for the time limit, or that NCCL says has failed, is aborted with all others,
/// which lets the host go on, to the error that it then meets.
class LaneWatch {
 public:
  LaneWatch(const CudaDriver& cuda, const NcclLibrary& nccl, int world_rank, double time_limit_s);
  LaneWatch(const LaneWatch&) = delete;
  LaneWatch& operator=(const LaneWatch&) = delete;
  ~LaneWatch();

  /// Looks after `lane` too, which must outlive it.
  void add(Lane& lane);
  void set_time_limit(double seconds) { time_limit_s_ = seconds; }
  /// Throws Error (failed) once something has been found.
  void check() const;
  /// Calls of NCCL on lanes, by the thread that issues them: no abort comes between, for NCCL frees
  /// what it aborts. One of them that itself waits for the device has to be aborted all the same.
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
  /// Returns when NCCL takes the next call on the lane, and the device has what the last one
  /// issued. Throws as check() does; what takes longer than the time limit is found.
  void wait_until_ready(const Lane& lane);
  /// Aborts all lanes, as if something had been found.
  void interrupt();

 private:
  using Clock = std::chrono::steady_clock;

  struct Watched {
    Lane* lane = nullptr;
    std::uint64_t calls = 0;  ///< when it was last looked at
    std::optional<Clock::time_point> still_since;
  };

  void begin_calls() const;
  void run();
  /// What is wrong with the lane; none: nothing.
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
