#pragma once

#include <span>

#include "lane.h"
#include "replayer/backends/interface/communicator.h"
#include "watch_lanes.h"

namespace understudy::backends {

/// Issues a call as ProcessGroupNCCL does: lists of equal parts through one flat buffer, other
/// lists part by part, all-to-all, gather and scatter as a group of sends and receives. The call
/// must pass check_call() and NCCL must have its reduction. Returns when all of it is issued to the
/// device. Throws as LaneWatch::check() does.
void issue(const Call& call, const CudaDriver& cuda, const NcclLibrary& nccl, LaneWatch& watch,
           Lane& lane);

/// Issues calls of a group whose path is MessagePath::kBatch as one NCCL group.
void issue_batch(std::span<const Call* const> calls, const CudaDriver& cuda,
                 const NcclLibrary& nccl, LaneWatch& watch, Lane& lane);

}  // namespace understudy::backends
