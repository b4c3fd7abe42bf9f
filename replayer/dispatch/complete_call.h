#pragma once

#include <string>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Completes a call whose schema is an operator's name: sets the full schema, and the defaults of
/// missing arguments. Returns an empty text, or why there is no such call.
[[nodiscard]] std::string complete_call(std::string& schema,
                                        std::vector<et_schema::Argument>& arguments);

}  // namespace understudy::replayer
