#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// One run over the fleet. Only one night is open at a time; later workers join it.
struct Night {
  std::int64_t id = 0;
  std::string opened_utc;
  std::string closed_utc;  ///< empty: open
  std::int64_t jobs = 0;
  std::int64_t unchanged = 0;  ///< jobs unchanged by names, sizes and times alone
  std::string summary;         ///< JSON; set when the night is closed
};

[[nodiscard]] std::optional<Night> open_night(Connection& connection);
[[nodiscard]] std::optional<Night> find_night(Connection& connection, std::int64_t id);
/// Newest first.
[[nodiscard]] std::vector<Night> last_nights(Connection& connection, std::size_t most);
/// Must be called in a transaction that saw no open night.
std::int64_t add_night(Connection& connection, std::int64_t jobs, std::int64_t unchanged);
/// Returns true if this call closed the night, which only one call does.
bool close_night(Connection& connection, std::int64_t night, const std::string& summary);

/// Prevents, until the transaction ends, that others plan a night, join one or add replays to one.
/// So a platform that joins sees all benchmarks made before, and a new benchmark sees all platforms
/// that joined.
void lock_nights(Connection& connection);

/// Adds a platform to those that replay in a night.
void join_night(Connection& connection, std::int64_t night, const std::string& platform);
struct NightPlatform {
  std::string platform;
  std::int64_t beat = 0;  ///< incremented while a worker of the platform lives
};
[[nodiscard]] std::vector<NightPlatform> platforms_of_night(Connection& connection,
                                                            std::int64_t night);

}  // namespace understudy::fleet
