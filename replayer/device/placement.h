#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "et_schema/model/program.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// Returns kRecorded if `device` is the CPU, else `asked`. If `asked` is unset, returns kDevice for
/// a program recorded only on the CPU. Throws Error (usage) if nothing would run on a requested
/// device.
[[nodiscard]] Place choose_place(const et_schema::Program& program, c10::Device device,
                                 std::optional<Place> asked);

/// Returns the program as if recorded on an accelerator: tensors and device arguments move. Python
/// numbers and arguments that operators accept only on the CPU (kHostArguments) do not move.
[[nodiscard]] et_schema::Program move_to_device(et_schema::Program program);

}  // namespace understudy::replayer
