#pragma once

#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"

namespace understudy::et_schema {

/// The steps that a profile marks, in order of time, with their marks alone.
[[nodiscard]] std::vector<DeviceStep> marked_steps(const Profile& profile);

/// Sets all else that DeviceStep tells of work that was launched; the events must be clipped.
void sum_steps(const Profile& profile, DeviceTimeline& timeline);

}  // namespace understudy::et_schema
