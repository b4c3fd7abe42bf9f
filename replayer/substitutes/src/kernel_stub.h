#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// What holds the place of a C++ kernel of a compiled graph on a CPU: it reads the bytes of the
/// tensors that the kernel read, rewrites those that it wrote with what they hold, makes its
/// results, and then waits until the recorded time has passed. Values stay as they were, and those
/// of results are of their rule, so what follows stays healthy.
/// None for a kernel that ran on a device, whose place no CPU can hold, and for one whose recorded
/// arguments do not say what each of them is.
[[nodiscard]] std::optional<Substitute> find_kernel_stub(const et_schema::Program& program,
                                                         const et_schema::Instruction& instruction,
                                                         c10::Device device);

}  // namespace understudy::replayer
