#pragma once

#include <c10/core/Device.h>

#include <string>
#include <variant>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// Launches a kernel as it was launched: the machine code that the program holds for the device,
/// the recorded grid, and the arguments of the stack. Memory that was allocated for the kernel is
/// made anew and becomes its results. Otherwise returns why the kernel has to be stubbed; empty if
/// the program has no machine code of it for such a device.
[[nodiscard]] std::variant<Substitute, std::string> find_kernel_launch(
    const et_schema::Program& program, const et_schema::Instruction& instruction,
    c10::Device device);

}  // namespace understudy::replayer
