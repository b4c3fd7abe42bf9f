#pragma once

#include <vector>

#include "fleet/analysis/platforms.h"
#include "fleet/analysis/selection.h"
#include "fleet/database/connection.h"

namespace understudy::cli {

/// Returns the jobs with benchmarks, and their newest times on each platform. Jobs with the same
/// benchmark share a row with the sum of their weights.
[[nodiscard]] std::vector<fleet::PlatformRow> platform_rows(fleet::Connection& connection);

/// Returns the jobs of platform_rows() as input for `fleet select`. `time_on`: the platform that
/// provides the times by class; empty: the recorded times.
[[nodiscard]] std::vector<fleet::Candidate> candidates(fleet::Connection& connection,
                                                       const std::string& time_on);

/// Returns small subsets that represent all jobs, in several sizes. Omits sizes that are not
/// smaller than the fleet.
[[nodiscard]] std::vector<fleet::Selection> usual_subsets(fleet::Connection& connection);

}  // namespace understudy::cli
