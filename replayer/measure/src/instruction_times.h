#pragma once

#include <vector>

#include "et_schema/operator_times/operator_times.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// A row for each operator and communication that ran. `calls_s`: by step, seconds of each call,
/// one entry a pass. `device_ms`: by step, what the device took; empty where it was not timed.
[[nodiscard]] std::vector<et_schema::InstructionTime> instruction_times(
    const et_schema::Program& program, const BoundProgram& bound,
    const std::vector<std::vector<double>>& calls_s,
    const std::vector<std::vector<double>>& device_ms);

}  // namespace understudy::replayer
