#pragma once

#include <cstdint>

#include "fleet/database/connection.h"
#include "fleet/nightly/options.h"
#include "fleet/objects/object_store.h"

namespace understudy::fleet {

/// Opens a night, with the work that is to be done in it, or joins the one that is open. Its
/// number. Reads no trace: jobs whose files look as before are left alone.
std::int64_t plan_night(Connection& connection, const ObjectStore& store,
                        const NightOptions& options);

}  // namespace understudy::fleet
