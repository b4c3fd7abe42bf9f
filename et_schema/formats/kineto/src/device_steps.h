#pragma once

#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"

namespace understudy::et_schema {

/// Returns the marked steps of a profile, ordered by time, with only their marks set.
[[nodiscard]] std::vector<DeviceStep> marked_steps(const Profile& profile);

/// Sets the other fields of DeviceStep from the launched work. The events must be clipped.
void sum_steps(const Profile& profile, DeviceTimeline& timeline);

}  // namespace understudy::et_schema
