#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

/// A recorded value that holds no tensor and is no list, as an instruction's argument.
[[nodiscard]] et_schema::Argument plain_argument(const et_schema::Value& value);

}  // namespace understudy::generator
