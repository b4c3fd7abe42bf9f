#pragma once

#include <cstdint>

#include "et_schema/model/report.h"
#include "fleet/database/connection.h"
#include "fleet/records/results.h"

namespace understudy::fleet {

/// Returns the figures of a report; benchmark, platform, night and environment stay unset. Throws
/// Error if the report has no iteration times.
[[nodiscard]] Result result_of(const et_schema::Report& report);

/// Adds the environment, without what changes with every run, unless it exists. Returns its id.
std::int64_t put_environment(Connection& connection, const et_schema::Environment& environment);

}  // namespace understudy::fleet
