#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {

/// Returns the duration of the recorded step; 0 if no profile is linked.
[[nodiscard]] constexpr std::int64_t recorded_step_ns(const Program& program) {
  return !program.profile                 ? 0
         : program.profile->length_ns > 0 ? program.profile->length_ns
                                          : program.profile->step_ns;
}

/// Returns the original step from the linked profile; empty if none is linked. `is_counted` selects
/// the instructions whose host times add up to operators_ms.
[[nodiscard]] OriginalStep original_step(const Program& program,
                                         const std::function<bool(const Instruction&)>& is_counted);

/// Sets the operators' counters in the original from the linked profile.
void add_recorded_counters(const Program& program, std::vector<OperatorTime>& operators);

}  // namespace understudy::et_schema
