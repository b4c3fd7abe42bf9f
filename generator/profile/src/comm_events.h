#pragma once

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// Fills in the parts of Profile::host_comms that PyTorch before 2.2 does not record. They come
/// from the events around and below each communication: the tensors of the c10d operator, of
/// record_param_comms and of the label "nccl:all_reduce", and the kernel's name. A communication
/// that appears only as a c10d operator, such a label or a kernel of NCCL or RCCL gets a
/// record_param_comms event. Returns true if events were added, which invalidates `host`.
[[nodiscard]] bool complete_communication(et_schema::Profile& profile, const HostEvents& host,
                                          et_schema::Losses& losses);

}  // namespace understudy::generator
