#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

/// A recorded value that holds no tensor and is no list, as an instruction's argument.
[[nodiscard]] et_schema::Argument plain_argument(const et_schema::Value& value);

/// The value of a Python number, which the trace does not hold. If the operator above has the same
/// name, it took the number as a scalar and recorded it; else the rule is one that leaves
/// magnitudes as they are.
[[nodiscard]] et_schema::ValueRule python_number_rule(const et_schema::Trace& trace,
                                                      const et_schema::Node& reader);

}  // namespace understudy::generator
