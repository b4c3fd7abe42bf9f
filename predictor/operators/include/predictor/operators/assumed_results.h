#pragma once

#include <cstdint>
#include <vector>

#include "predictor/calls/call.h"

namespace understudy::predictor {

/// Adds the results that a call's name and arguments tell, where its record has arguments alone, as
/// Kineto's has: enough for work_of(), not for more. `lists`: lists of integers among the
/// arguments, in their order. What the name does not tell is taken for elementwise: a result as
/// large as its arguments together.
void add_assumed_results(OperatorCall& call, const std::vector<std::vector<std::int64_t>>& lists);

}  // namespace understudy::predictor
