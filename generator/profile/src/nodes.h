#pragma once

#include <vector>

#include "calls.h"
#include "generator/link/device.h"
#include "walk.h"

namespace understudy::generator {

/// Writes the identities and devices of all tensors into the calls, and adds a node for each host
/// event to the trace, with its roots.
void add_nodes(const et_schema::Profile& profile, const HostEvents& host,
               const DeviceEvents& device, std::vector<Call>& calls, Walked& walked,
               et_schema::Trace& trace);

}  // namespace understudy::generator
