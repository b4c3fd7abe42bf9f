#pragma once

#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"
#include "et_schema/model/program.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// Returns the device events whose launching host event is unknown, by name and reason.
[[nodiscard]] std::vector<et_schema::LostDeviceEvents> unlinked_events(
    const et_schema::DeviceTimeline& device, const HostEvents& host);

}  // namespace understudy::generator
