#pragma once

#include <string>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// "bench::normal(0.0, 0.01)". `dot`: "bench." for Python.
[[nodiscard]] std::string rule_text(const et_schema::ValueRule& rule, Dialect dialect);

}  // namespace understudy::emitter
