#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// A replay that failed when it was tried last.
struct FailingReplay {
  std::int64_t benchmark = 0;
  std::string platform;
  std::int64_t since_night = 0;  ///< began to fail
  std::int64_t last_night = 0;   ///< was tried last
  std::string text;              ///< why, in one line
};

/// Ordered by benchmark and platform.
[[nodiscard]] std::vector<FailingReplay> failing_replays(Connection& connection);

}  // namespace understudy::fleet
