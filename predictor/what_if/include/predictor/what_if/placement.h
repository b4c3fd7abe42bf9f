#pragma once

#include "et_schema/model/program.h"

namespace understudy::predictor {

/// Whether a program has all of its tensors on the host.
[[nodiscard]] bool is_on_host(const et_schema::Program& program);

/// The program with all tensors of the host on one accelerator, as `replay --place device` takes
/// them.
[[nodiscard]] et_schema::Program placed_on_device(et_schema::Program program);

}  // namespace understudy::predictor
