#pragma once

#include "et_schema/support/error.h"

namespace understudy::fleet {

/// Error (bad input): the database holds what this program never writes there. The hint is set
/// here.
[[nodiscard]] et_schema::Error damaged_database(et_schema::ErrorContext context);

}  // namespace understudy::fleet
