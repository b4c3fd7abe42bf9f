#pragma once

#include <cstdint>
#include <unordered_map>

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "join.h"

namespace understudy::generator {

/// What the device events of an eager profile take where the same step is launched as graphs.
struct GraphTimes {
  /// By position in Profile::events, of those that the graphed step has too.
  std::unordered_map<std::uint32_t, std::int64_t> ns;
  std::uint64_t eager_only = 0;  ///< events of an eager step that the graphed one lacks
  std::uint64_t graph_only = 0;  ///< the reverse
  et_schema::KernelClassTimes graph_only_ns;
};

/// Joins the device events of each joined step with those of a step of `graph_run`, by names in
/// order: the k-th of a name with the k-th, where both steps have as many; else as an alignment of
/// the whole sequences has it. Times are medians over the graphed steps. These are marked by
/// ProfilerStep#, or else begin wherever the sequence of launched graphs repeats. Throws Error (bad
/// input) where fewer than 3 of 4 device events are joined: another program.
[[nodiscard]] GraphTimes graph_times(const et_schema::Profile& eager, const HostEvents& host,
                                     const et_schema::DeviceTimeline& device, const Join& join,
                                     const et_schema::Profile& graph_run);

}  // namespace understudy::generator
