#pragma once

#include <vector>

#include "et_schema/model/program.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Prepares a communication's call. Throws Error (bad input) if splits, group or reduction do not
/// fit its tensors.
[[nodiscard]] BoundComm bind_comm(const et_schema::Program& program,
                                  const et_schema::Instruction& instruction,
                                  const std::vector<BoundGroup>& groups);

}  // namespace understudy::replayer
