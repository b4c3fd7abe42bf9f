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
/// Loads the module `postgres`, so that only fleets on such a server need PostgreSQL's library.
/// Throws Error (usage) without either.
[[nodiscard]] std::unique_ptr<Connection> connect_postgres(const std::string& url,
                                                           double patience_s);

/// Repeats `attempt` after transient failures, with growing waits, for `patience_s` of monotonic
/// time. Then throws `error_of` of the last failure's text.
template <typename Attempt, typename ErrorOf>
void with_patience(double patience_s, const Attempt& attempt, const ErrorOf& error_of) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kFirstWait{20};
  constexpr std::chrono::milliseconds kLongestWait{2000};
  const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
  for (auto wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
    try {
      attempt();
      return;
    } catch (const TransientError& error) {
      if (Clock::now() >= end) {
        throw error_of(error.what());
      }
    }
    std::this_thread::sleep_for(wait);
  }
}

}  // namespace understudy::fleet
