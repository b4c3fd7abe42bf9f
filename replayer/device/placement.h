#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "et_schema/model/program.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// The place of a replay on `device`: the one that was asked for; otherwise a program recorded only
/// on the CPU moves. Throws Error (usage) if nothing would run on the device that was asked for.
[[nodiscard]] Place choose_place(const et_schema::Program& program, c10::Device device,
                                 std::optional<Place> asked);

/// The program as if it had been recorded on an accelerator: its tensors and device arguments move.
/// Python's numbers stay on the CPU, and so do arguments that operators accept only there
/// (kHostArguments).
[[nodiscard]] et_schema::Program move_to_device(et_schema::Program program);

}  // namespace understudy::replayer
