#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

inline constexpr const char* kGenerateWork = "generate";  ///< subject: a job
inline constexpr const char* kReplayWork = "replay";      ///< subject: a benchmark

/// A worker without a heartbeat for this many seconds is assumed dead.
inline constexpr double kLeaseSeconds = 30;
/// Most attempts for a piece of work. Workers that are killed now and then do not exhaust it; work
/// that crashes its worker every time does.
inline constexpr std::int64_t kMostAttempts = 10;

/// One piece of work of a night, claimed by a worker.
struct WorkItem {
  std::int64_t id = 0;
  std::int64_t night = 0;
  std::string kind;
  std::int64_t subject = 0;
  std::string platform;  ///< replays only
  std::int64_t attempts = 1;
  std::chrono::steady_clock::time_point since = {};  ///< time of the claim
};

/// Adds a piece of work unless the night already has it.
void add_work(Connection& connection, std::int64_t night, const std::string& kind,
              std::int64_t subject, const std::string& platform);

/// Assigns work to workers by leases. A lease holds no time: its holder increments a counter in its
/// row (see Heartbeat). A lease has expired if the counter stood still for `lease_s` by the
/// waiter's monotonic clock, or at once if its holder was a process of this host that ended.
class WorkQueue {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  WorkQueue(std::string owner, double lease_s = kLeaseSeconds,
            Clock clock = std::chrono::steady_clock::now);

  /// Claims the next piece of one of these kinds that this platform may do; empty if there is none.
  [[nodiscard]] std::optional<WorkItem> claim(Connection& connection, std::int64_t night,
                                              const std::vector<std::string>& kinds,
                                              const std::string& platform);
  /// Ends a piece of work and runs `consequences` in the same transaction. Returns false and
  /// changes nothing if another worker has taken over the work.
  [[nodiscard]] bool finish(Connection& connection, const WorkItem& item,
                            const std::string& outcome, const std::string& detail,
                            const std::function<void()>& consequences);
  [[nodiscard]] const std::string& owner() const { return owner_; }

 private:
  struct Seen {
    std::string owner;
    std::int64_t beat = 0;
    std::chrono::steady_clock::time_point since;
  };
  [[nodiscard]] bool has_run_out(std::int64_t id, const std::string& owner, std::int64_t beat);
  std::optional<WorkItem> claim_ready(Connection& connection, const std::string& where,
                                      const Values& parameters);
  std::optional<WorkItem> claim_orphan(Connection& connection, const std::string& where,
                                       const Values& parameters);

  std::string owner_;
  double lease_s_;
  Clock clock_;
  std::map<std::int64_t, Seen> seen_;  ///< counters of other workers' leases
};

struct WorkCounts {
  std::size_t total = 0;
  std::size_t done = 0;
  std::size_t left = 0;  ///< not done, of the requested kinds on this platform
};
[[nodiscard]] WorkCounts count_work(Connection& connection, std::int64_t night,
                                    const std::vector<std::string>& kinds,
                                    const std::string& platform);

/// Ends all remaining work of a platform, claimed or not. Workers that return find it ended.
void give_up_work(Connection& connection, std::int64_t night, const std::string& platform,
                  const std::string& outcome, const std::string& detail);

struct FinishedWork {
  std::string kind;
  std::int64_t subject = 0;
  std::string platform;
  std::string outcome;
  std::string detail;
  std::int64_t attempts = 0;
  double seconds = 0;  ///< between the last claim and the end; NaN: never claimed, or unknown
};
[[nodiscard]] std::vector<FinishedWork> finished_work(Connection& connection, std::int64_t night);
/// Returns true if no work of the night is left on any platform.
[[nodiscard]] bool is_all_done(Connection& connection, std::int64_t night);

/// Identity and place of a worker that sends heartbeats.
struct Pulse {
  std::string owner;
  std::int64_t night = 0;
  std::string platform;
};

/// While it exists, increments the counters of an owner's leases and of its platform's row of the
/// night, on its own thread and connection. Retries after failures; a lease lost meanwhile is
/// noticed when the work is finished.
class Heartbeat {
 public:
  Heartbeat(std::string url, Pulse pulse, double every_s);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void run();

  std::string url_;
  Pulse pulse_;
  double every_s_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace understudy::fleet
