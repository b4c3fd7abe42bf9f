#pragma once

#include <string>
#include <vector>

#include "call_text.h"
#include "function_text.h"
#include "tensors_text.h"

namespace understudy::emitter {

/// A step's pieces of text.
struct StepParts {
  const std::map<std::string, std::string>& boxed;  ///< see Calls
  const TensorsText& tensors;
  const std::vector<FunctionText>& functions;
  const std::vector<std::string>& lines;  ///< of the step itself
};

/// They put together: a file behind its includes, up to make_NAME().
[[nodiscard]] std::string step_source(const StepParts& step, Dialect dialect);

}  // namespace understudy::emitter
