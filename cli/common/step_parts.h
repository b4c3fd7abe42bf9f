#pragma once

#include <optional>

#include "et_schema/model/report.h"

namespace understudy::cli {

/// What a step's operators and its communication took, in the original and in the replay's timing
/// passes. Apart: of an asynchronous communication the original's host shows the time until it was
/// issued, a timing pass the time until it is complete. Nothing of what is not known.
struct StepParts {
  std::optional<double> operators_ms;
  std::optional<double> recorded_operators_ms;
  std::optional<double> communication_ms;  ///< only where there is some
  std::optional<double> recorded_communication_ms;
};

[[nodiscard]] StepParts parts_of_step(const et_schema::RunFigures& total);

}  // namespace understudy::cli
