#pragma once

#include <cstdint>
#include <string>

#include "fleet/database/connection.h"
#include "fleet/nightly/night_run.h"
#include "fleet/nightly/options.h"

namespace understudy::fleet {

/// Waits for workers elsewhere, looks for change points, and closes the night. Returns its summary.
[[nodiscard]] std::string finish_night(Connection& connection, std::int64_t night,
                                       const NightOptions& options, const OnProgress& on_progress);

/// Adds an event for each new change point in the series with results of this night. Returns why
/// the search was not possible; otherwise empty.
[[nodiscard]] std::string add_change_point_events(Connection& connection, std::int64_t night,
                                                  const NightOptions& options);

}  // namespace understudy::fleet
