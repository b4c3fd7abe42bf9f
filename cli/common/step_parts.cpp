#include "common/step_parts.h"

#include <algorithm>

namespace understudy::cli {

StepParts parts_of_step(const et_schema::RunFigures& total) {
  StepParts parts;
  for (const et_schema::OperatorTime& row : total.operators) {
    if (row.op_class == "communication") {
      parts.communication_ms = parts.communication_ms.value_or(0) + row.ms;
      if (row.recorded_ms) {
        parts.recorded_communication_ms =
            parts.recorded_communication_ms.value_or(0) + *row.recorded_ms;
      }
    } else {
      parts.operators_ms = parts.operators_ms.value_or(0) + row.ms;
    }
  }
  // Like the whole it is of those that have a time. Of a job each row is the slowest rank's.
  if (total.original.operators_ms) {
    parts.recorded_operators_ms =
        std::max(0.0, *total.original.operators_ms - parts.recorded_communication_ms.value_or(0));
  }
  return parts;
}

}  // namespace understudy::cli
