#pragma once

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "et_schema/support/arena.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// Kineto writes lists of more than thirty tensors as empty ones. Where an operator handed its list
/// on one by one, as _foreach_… do on CPUs, its children tell the layouts. Those of _foreach_… and
/// _fused_… operators that have no children, behind the backward pass, are those of all gradients
/// that autograd kept, in the order of the forward pass. Lists of numbers, one for each tensor, are
/// left out too: the children tell them as well, else they are ones (Loss::kAssumedArguments).
void fill_lists(et_schema::Profile& profile, const HostEvents& host, et_schema::Arena arena,
                et_schema::Losses& losses);

}  // namespace understudy::generator
