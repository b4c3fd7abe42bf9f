#pragma once

#include <span>

#include "lane.h"
#include "replayer/backends/interface/communicator.h"
#include "watch_lanes.h"

namespace understudy::backends {

/// Issues a call that fits its kind (check_call) and that NCCL has a reduction for, as
/// ProcessGroupNCCL does: lists of equal parts through one flat buffer, lists of others part by
/// part, all-to-all, gather and scatter as sends and receives in one group. Returns when the device
/// has all of it. Throws as LaneWatch::check() does.
void issue(const Call& call, const CudaDriver& cuda, const NcclLibrary& nccl, LaneWatch& watch,
           Lane& lane);

/// The same of calls of a group whose path is MessagePath::kBatch: one group of
/// NCCL's.
void issue_batch(std::span<const Call* const> calls, const CudaDriver& cuda,
                 const NcclLibrary& nccl, LaneWatch& watch, Lane& lane);

}  // namespace understudy::backends
