#pragma once

#include <cstdint>
#include <unordered_map>

#include "et_schema/kineto/kineto.h"

namespace understudy::predictor {

/// Where a device's event came from.
struct DeviceLaunch {
  const et_schema::KinetoEvent* call = nullptr;  ///< of the runtime
  const et_schema::KinetoEvent* op = nullptr;  ///< the innermost operator that made it; may be null
};
/// By correlation: a call of the runtime has it in common with what it launched ("External id" does
/// not tell: docs/design.md, "Link").
using DeviceLaunches = std::unordered_map<std::int64_t, DeviceLaunch>;

[[nodiscard]] DeviceLaunches device_launches(const et_schema::Profile& profile);

/// Whether it is over some time, and ends within what a number holds.
[[nodiscard]] bool has_length(const et_schema::KinetoEvent& event);

}  // namespace understudy::predictor
