#pragma once

#include <string>

#include "calibrator/design/call.h"

namespace understudy::calibrator {

/// Gives a call whose schema is an operator's name that operator's whole schema, and the arguments
/// that it leaves out their defaults. Empty, or why there is no such call.
[[nodiscard]] std::string complete(Call& call);

}  // namespace understudy::calibrator
