#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// A kernel, copy or set of memory, and the operator that launched it.
struct DeviceEvent {
  std::uint32_t source = 0;        ///< position in Profile::events
  HostIndex operator_ = kNoEvent;  ///< never an annotation; kNoEvent: it is not known
  /// Position in Profile::events of the call that launched it, or the operator's; its own where
  /// neither is known.
  std::uint32_t launch = 0;
};

/// Whether the call launches a whole graph (CUDA's or HIP's), whose kernels belong to no single
/// operator.
[[nodiscard]] bool is_graph_launch(const et_schema::KinetoEvent& call);

struct DeviceEvents {
  std::vector<DeviceEvent> linked;  ///< in the file's order
  /// The operator that launched it, for each launch of a kernel without a device event.
  std::vector<HostIndex> unanswered;
  std::vector<DeviceEvent> unlinked;  ///< those whose operator is not known
  std::uint64_t total = 0;
  std::uint64_t by_external_id = 0;  ///< those of `linked` without a call in the profile
  std::vector<et_schema::LostDeviceEvents> lost;  ///< in order of names
};

/// Links device events: correlation → the runtime or driver call with that correlation → the
/// innermost operator open on that thread when the call began. Where there is no such call, the
/// operator that "External id" names, if it can be relied on (et_schema::Launches).
[[nodiscard]] DeviceEvents link_device_events(const et_schema::Profile& profile,
                                              const HostEvents& host);

}  // namespace understudy::generator
