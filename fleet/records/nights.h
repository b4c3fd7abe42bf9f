#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// One run over the fleet. There is one open night at a time; whoever comes joins it.
struct Night {
  std::int64_t id = 0;
  std::string opened_utc;
  std::string closed_utc;  ///< empty: open
  std::int64_t jobs = 0;
  std::int64_t unchanged = 0;  ///< told by names, sizes and times alone
  std::string summary;         ///< JSON, once closed
};

[[nodiscard]] std::optional<Night> open_night(Connection& connection);
[[nodiscard]] std::optional<Night> find_night(Connection& connection, std::int64_t id);
/// Newest first.
[[nodiscard]] std::vector<Night> last_nights(Connection& connection, std::size_t most);
/// In a transaction that saw no open night.
std::int64_t add_night(Connection& connection, std::int64_t jobs, std::int64_t unchanged);
/// True if this call closed it: once.
bool close_night(Connection& connection, std::int64_t night, const std::string& summary);

/// Until the transaction ends nobody else plans a night, joins one or adds replays to one: who
/// joins sees each benchmark that was made before, and who makes one sees each platform that
/// joined.
void lock_nights(Connection& connection);

/// Platforms that replay in a night.
void join_night(Connection& connection, std::int64_t night, const std::string& platform);
struct NightPlatform {
  std::string platform;
  std::int64_t beat = 0;  ///< counted up as long as a worker on it lives
};
[[nodiscard]] std::vector<NightPlatform> platforms_of_night(Connection& connection,
                                                            std::int64_t night);

}  // namespace understudy::fleet
