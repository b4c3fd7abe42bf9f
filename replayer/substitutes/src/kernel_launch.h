#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>
#include <variant>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// What launches a kernel as it was launched: with the machine code that the program holds for the
/// device, the recorded grid, and the arguments of the stack; memory that was allocated for the
/// kernel is made anew and becomes its results. A CPU runs C++ kernels alone, and none
/// where `why_no_library` is not empty. Else a sentence why the kernel has to be stubbed; empty
/// where the program has no machine code of it for such a device.
[[nodiscard]] std::variant<Substitute, std::string> find_kernel_launch(
    const et_schema::Program& program, const et_schema::Instruction& instruction,
    c10::Device device, std::string_view why_no_library);

}  // namespace understudy::replayer
