#pragma once

#include <vector>

#include "fleet/analysis/platforms.h"
#include "fleet/analysis/selection.h"
#include "fleet/database/connection.h"

namespace understudy::cli {

/// Jobs with benchmarks, and their newest times on each platform. Jobs of one benchmark are one
/// row, their weights added.
[[nodiscard]] std::vector<fleet::PlatformRow> platform_rows(fleet::Connection& connection);

/// The same as `fleet select` takes them. `time_on`: the platform whose time by class counts; empty
/// for the recorded times.
[[nodiscard]] std::vector<fleet::Candidate> candidates(fleet::Connection& connection,
                                                       const std::string& time_on);

/// The few that stand for all, of some sizes; none for a fleet that is as small.
[[nodiscard]] std::vector<fleet::Selection> usual_subsets(fleet::Connection& connection);

}  // namespace understudy::cli
