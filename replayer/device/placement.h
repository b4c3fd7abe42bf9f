#pragma once

#include <c10/core/Device.h>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Returns true for a program that was recorded on CPUs alone and is to run on another device.
[[nodiscard]] bool moves_to(c10::Device device, const et_schema::Program& program);

/// Returns the program as if recorded on an accelerator: tensors and device arguments move. Python
/// numbers and arguments that operators accept only on the CPU (kHostArguments) do not move.
[[nodiscard]] et_schema::Program move_to_device(et_schema::Program program);

}  // namespace understudy::replayer
