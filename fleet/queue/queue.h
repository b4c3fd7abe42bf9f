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

/// A worker without a sign of life for this many seconds is taken for dead.
inline constexpr double kLeaseSeconds = 30;
/// A piece of work is started at most this often. Killing workers now and then breaks no job; work
/// that ends its worker each time does.
inline constexpr std::int64_t kMostAttempts = 10;

/// One piece of work of a night, in the hands of a worker.
struct WorkItem {
  std::int64_t id = 0;
  std::int64_t night = 0;
  std::string kind;
  std::int64_t subject = 0;
  std::string platform;  ///< of a replay
  std::int64_t attempts = 1;
  std::chrono::steady_clock::time_point since = {};  ///< it is in hand
};

/// Adds a piece of work, once a night.
void add_work(Connection& connection, std::int64_t night, const std::string& kind,
              std::int64_t subject, const std::string& platform);

/// Gives work to one worker. A lease has no time in it: its holder counts up its row (see
/// heartbeat.h). A lease has run out when the count stood still for `lease_s` by the waiter's
/// monotonic clock. A holder on this host whose process is gone loses it at once.
class WorkQueue {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  WorkQueue(std::string owner, double lease_s = kLeaseSeconds,
            Clock clock = std::chrono::steady_clock::now);

  /// The next piece of one of these kinds that this platform may do; nothing if there is none now.
  [[nodiscard]] std::optional<WorkItem> claim(Connection& connection, std::int64_t night,
                                              const std::vector<std::string>& kinds,
                                              const std::string& platform);
  /// Ends a piece of work, and does in the same transaction what follows from it. False, and
  /// nothing is done, if another has it by now.
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
  std::map<std::int64_t, Seen> seen_;  ///< other workers' pieces
};

struct WorkCounts {
  std::size_t total = 0;
  std::size_t done = 0;
  std::size_t left = 0;  ///< of the kinds asked for, by anybody on this platform
};
[[nodiscard]] WorkCounts count_work(Connection& connection, std::int64_t night,
                                    const std::vector<std::string>& kinds,
                                    const std::string& platform);

/// Ends what is left on a platform, begun or not: who comes back with it finds it ended.
void give_up_work(Connection& connection, std::int64_t night, const std::string& platform,
                  const std::string& outcome, const std::string& detail);

struct FinishedWork {
  std::string kind;
  std::int64_t subject = 0;
  std::string platform;
  std::string outcome;
  std::string detail;
  std::int64_t attempts = 0;
  double seconds = 0;  ///< in the hands of who finished it; NaN: nobody, or not known
};
[[nodiscard]] std::vector<FinishedWork> finished_work(Connection& connection, std::int64_t night);
/// Whether nothing of a night is left to be done, on all platforms.
[[nodiscard]] bool is_all_done(Connection& connection, std::int64_t night);

/// A worker that shows signs of life, and where.
struct Pulse {
  std::string owner;
  std::int64_t night = 0;
  std::string platform;
};

/// Counts up the rows that an owner holds, and its platform's row of the night, on its own thread
/// and connection, as long as it lives. It retries what fails: a lease that is lost meanwhile is
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
