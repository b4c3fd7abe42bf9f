#pragma once

#include "backends/communicator.h"
#include "lane.h"

namespace understudy::backends {

/// Issues a call that fits its kind (check_call) and that NCCL has a reduction for, as
/// ProcessGroupNCCL does: lists of equal parts through one flat buffer, lists of others part by
/// part, all-to-all, gather and scatter as sends and receives in one group.
void issue(const Call& call, const CudaDriver& cuda, const NcclLibrary& nccl, Lane& lane);

}  // namespace understudy::backends
