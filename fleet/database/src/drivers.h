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

/// Tries again what others hold for now, after ever longer waits, until the patience is over by
/// this process' own clock: then throws what `error_of` makes of the last TransientError's text.
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
