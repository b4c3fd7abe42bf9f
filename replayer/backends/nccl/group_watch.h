#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <vector>

#include "et_schema/base/error.h"

namespace understudy::backends {

/// Waits for what PyTorch's watchdogs find: a call without an end within the time limit, a failure
/// of NCCL. A host that waits for its device cannot see it. All groups are aborted then, so that
/// the host continues and gets the error.
class GroupWatch {
 public:
  using Group = c10::intrusive_ptr<c10d::ProcessGroupNCCL>;

  GroupWatch(int world_rank, double time_limit_s);
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;
  ~GroupWatch();

  void add(Group group);
  /// Changes the limit of calls that are issued from now on.
  void set_time_limit(double seconds);
  [[nodiscard]] std::chrono::milliseconds time_limit() const;
  /// Throws Error (failed) once a failure was found.
  void check() const;
  /// Aborts all groups, as if a failure had been found.
  void interrupt();
  /// Calls `work`, which issues to groups. Groups are not aborted meanwhile, since an abort frees
  /// what `work` uses. Only if `work` waits for the device for long they are: nothing else ends it.
  /// Errors of PyTorch become Error (failed). Throws as check() does.
  template <typename Work>
  auto guard(const Work& work) {
    const std::lock_guard lock(issuing_);
    check();
    try {
      return work();
    } catch (const c10::Error& error) {
      throw failed(error.what_without_backtrace());
    }
  }

 private:
  void run();
  [[nodiscard]] et_schema::Error failed(std::string got) const;
  /// Returns the calls that have not ended, as PyTorch's recorder of flights tells them.
  [[nodiscard]] static std::string open_calls();
  void fail(et_schema::Error error);

  const int world_rank_;
  std::atomic<double> time_limit_s_;
  std::timed_mutex issuing_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::vector<Group> groups_;
  std::optional<et_schema::Error> found_;  ///< as it is when has_found_ is set
  std::atomic<bool> has_found_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace understudy::backends
