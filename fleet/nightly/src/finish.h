#pragma once

#include <cstdint>
#include <string>

#include "fleet/database/connection.h"
#include "fleet/nightly/night_run.h"
#include "fleet/nightly/options.h"

namespace understudy::fleet {

/// Waits for workers elsewhere, looks for change points, closes the night. Its summary.
[[nodiscard]] std::string finish_night(Connection& connection, std::int64_t night,
                                       const NightOptions& options, const OnProgress& on_progress);

/// Adds an event for each series with a result of this night that turned. Empty, or why nobody
/// looked.
[[nodiscard]] std::string add_change_point_events(Connection& connection, std::int64_t night,
                                                  const NightOptions& options);

}  // namespace understudy::fleet
