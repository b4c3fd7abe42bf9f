#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"
#include "et_schema/formats/kineto/nested_events.h"

namespace understudy::et_schema {

inline constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();

/// Returns a - b, or the nearest number on overflow.
[[nodiscard]] inline std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t ns = 0;
  return !__builtin_sub_overflow(a, b, &ns) ? std::max(ns, -kEver) : b < 0 ? kEver : -kEver;
}

/// Returns the marked steps of a profile, ordered by time, with only their marks set.
[[nodiscard]] std::vector<DeviceStep> marked_steps(const Profile& profile);

/// A launch of a kernel or copy, and the device events with its correlation.
struct SharedLaunch {
  EventIndex call = kUnknownEvent;
  std::vector<EventIndex> events;
};

/// Gives surplus events of launches to the launches without events beside them, as ROCm's profiles
/// need, and returns the launches of the moved events. `launches`: by thread, in order.
[[nodiscard]] std::unordered_map<EventIndex, EventIndex> shared_out(
    const Profile& profile, const std::vector<NestedEvent>& operators,
    std::vector<SharedLaunch> launches);

/// Sets events to the host's clock where the device's contradicts it: work that began before its
/// launch, or ended after the host had waited for it. The events must be in the order of the file.
void mend_clock(const Profile& profile, DeviceTimeline& timeline);

/// Sets the other fields of DeviceStep from the launched work. The events must be clipped.
void sum_steps(const Profile& profile, DeviceTimeline& timeline);

}  // namespace understudy::et_schema
