#pragma once

#include <cstdint>
#include <unordered_map>

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "join.h"

namespace understudy::generator {

/// Times of an eager profile's device events when the same step is launched as graphs.
struct GraphTimes {
  /// By position in Profile::events, for events that the graphed step has too.
  std::unordered_map<std::uint32_t, std::int64_t> ns;
  std::uint64_t eager_only = 0;  ///< events of an eager step without a counterpart
  std::uint64_t graph_only = 0;  ///< events of a graphed step without a counterpart
  et_schema::KernelClassTimes graph_only_ns;
};

/// Joins the device events of each joined step with those of a step of `graph_run`, by name. If
/// both steps have a name equally often, the k-th event is joined with the k-th; otherwise the
/// sequences are aligned. Times are medians over the graphed steps, which ProfilerStep# marks, or
/// which begin wherever the sequence of launched graphs repeats. Throws Error (bad input) if fewer
/// than 3 of 4 device events are joined, because the program then differs.
[[nodiscard]] GraphTimes graph_times(const et_schema::Profile& eager, const HostEvents& host,
                                     const et_schema::DeviceTimeline& device, const Join& join,
                                     const et_schema::Profile& graph_run);

}  // namespace understudy::generator
