#pragma once

#include <vector>

#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// By communication: what starting it took and what waiting for it took, in each pass.
[[nodiscard]] std::vector<std::vector<double>> times_of_comms(
    const BoundProgram& bound, const std::vector<std::vector<double>>& calls_s);

}  // namespace understudy::replayer
