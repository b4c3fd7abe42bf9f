#pragma once

#include <c10/core/Device.h>

#include <string>
#include <variant>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// Returns a substitute that launches a kernel as recorded: with the program's machine code for the
/// device, the recorded grid, and the arguments on the stack. Memory that was allocated for the
/// kernel is allocated again and becomes its results. Otherwise returns why the kernel must be
/// stubbed; empty if the program has no machine code of the kernel for such a device.
[[nodiscard]] std::variant<Substitute, std::string> find_kernel_launch(
    const et_schema::Program& program, const et_schema::Instruction& instruction,
    c10::Device device);

}  // namespace understudy::replayer
