#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "et_schema/model/program.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// The place of a replay on `device`: as asked; not asked, a program that was recorded on the CPU
/// alone moves. Throws Error (usage) where nothing would run on the device that was asked for.
[[nodiscard]] Place choose_place(const et_schema::Program& program, c10::Device device,
                                 std::optional<Place> asked);

/// The program as if it had been recorded on an accelerator: tensors and device arguments. On the
/// CPU stay Python's numbers, and what operators take there alone (kHostArguments).
[[nodiscard]] et_schema::Program move_to_device(et_schema::Program program);

}  // namespace understudy::replayer
