#pragma once

#include <string>
#include <vector>

#include "cold_calls.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "replayer/bind/bound.h"
#include "sustained.h"

namespace understudy::replayer {

/// The measurements of each step.
struct StepFigures {
  const std::vector<std::vector<double>>& calls_s;    ///< of each call, one entry per pass
  const std::vector<std::vector<double>>& device_ms;  ///< empty if no device was timed
  std::vector<et_schema::Counters> counters;          ///< of a call; empty: not counted
  const ColdCalls* cold = nullptr;                    ///< if set, the times are of cold calls
  const SustainedHook* sustained = nullptr;           ///< if set, operators were called for seconds
};

/// Returns a row for each operator and communication that ran; for each operator a cold one and a
/// warm one if they were called cold, and a sustained one if they were called for seconds.
[[nodiscard]] std::vector<et_schema::MeasuredCall> instruction_times(
    const et_schema::Program& program, const BoundProgram& bound, const StepFigures& figures);

}  // namespace understudy::replayer
