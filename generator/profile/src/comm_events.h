#pragma once

#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// Fills in Profile::host_comms what PyTorch before 2.2 does not write of communications, from the
/// events around and below each: the c10d operator's tensors, those of record_param_comms and of
/// the label "nccl:all_reduce", the kernel's name. A communication that only a c10d operator, such
/// a label or a kernel of NCCL or RCCL shows gets an event record_param_comms of its own. Returns
/// whether events were added, which makes `host` invalid.
[[nodiscard]] bool complete_communication(et_schema::Profile& profile, const HostEvents& host,
                                          et_schema::Losses& losses);

}  // namespace understudy::generator
