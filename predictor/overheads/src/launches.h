#pragma once

#include <cstdint>
#include <unordered_map>

#include "et_schema/kineto/kineto.h"

namespace understudy::predictor {

/// The origin of a device's event.
struct DeviceLaunch {
  const et_schema::KinetoEvent* call = nullptr;  ///< the call of the runtime
  /// The innermost operator that made the call; may be null.
  const et_schema::KinetoEvent* op = nullptr;
};
/// Launches by correlation, which a call of the runtime shares with what it launched ("External id"
/// does not tell: docs/design.md, "Link").
using DeviceLaunches = std::unordered_map<std::int64_t, DeviceLaunch>;

[[nodiscard]] DeviceLaunches device_launches(const et_schema::Profile& profile);

/// Whether the event lasts some time and ends within the range of the number type.
[[nodiscard]] bool has_length(const et_schema::KinetoEvent& event);

}  // namespace understudy::predictor
