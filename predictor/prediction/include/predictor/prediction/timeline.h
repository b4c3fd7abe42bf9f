#pragma once

#include <string>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// The last two iterations as a trace that Perfetto and chrome://tracing open, in Kineto's form: a
/// process a rank, a thread for each host thread and each stream. Ranks that were played as one are
/// shown once.
[[nodiscard]] std::string chrome_trace(const Job& job, const Simulation& simulation);

}  // namespace understudy::predictor
