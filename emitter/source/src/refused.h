#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// Operators that mean nothing in an emitted step: they hand their tensor on.
[[nodiscard]] bool means_nothing(std::string_view name);

/// By instruction: why source cannot show it; empty: it can.
[[nodiscard]] std::vector<std::string> find_refused(const et_schema::Program& program,
                                                    Dialect dialect);

}  // namespace understudy::emitter
