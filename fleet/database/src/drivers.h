#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "fleet/database/connection.h"

namespace understudy::fleet {

[[nodiscard]] std::unique_ptr<Connection> connect_sqlite(const std::string& path, Opening opening,
                                                         double patience_s);
/// Throws Error (usage) in builds without libpqxx.
[[nodiscard]] std::unique_ptr<Connection> connect_postgres(const std::string& url,
                                                           double patience_s);

/// How long a caller tries again what others hold for now: ever longer waits, by this process' own
/// clock, until the patience is over.
class Patience {
 public:
  explicit Patience(double patience_s)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(patience_s))) {}

  [[nodiscard]] bool is_over() const { return Clock::now() >= end_; }

  void wait() {
    std::this_thread::sleep_for(wait_);
    wait_ = std::min(2 * wait_, kLongestWait);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirstWait{20};
  static constexpr std::chrono::milliseconds kLongestWait{2000};

  Clock::time_point end_;
  std::chrono::milliseconds wait_ = kFirstWait;
};

}  // namespace understudy::fleet
