#pragma once

#include "et_schema/model/program.h"

namespace understudy::predictor {

/// Whether an operator's host has to wait for its device: it reads a value (`item`), makes a result
/// whose shape depends on values (`nonzero`, an index that is a mask), or copies between a device
/// and the host without `non_blocking` (an index that lies on the host too).
[[nodiscard]] bool waits_for_device(const et_schema::Program& program,
                                    const et_schema::Instruction& instruction);

/// Whether any of its tensors lies on a device that is no CPU.
[[nodiscard]] bool touches_device(const et_schema::Program& program,
                                  const et_schema::Instruction& instruction);

}  // namespace understudy::predictor
