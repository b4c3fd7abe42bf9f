#pragma once

#include <vector>

#include "collective_time.h"
#include "et_schema/model/report.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Fills the report's times by operator and by collective, its gaps and, if a profile is linked,
/// the original's times. `calls_s`: by step, seconds of each call, one entry per iteration.
/// `iterations_ms`: the whole iterations of these calls. `beside`: times by communication in passes
/// where communications overlap with operators. `has_gaps`: the rest of an iteration is its gaps.
void report_operator_times(const BoundProgram& bound,
                           const std::vector<std::vector<double>>& calls_s,
                           const std::vector<double>& iterations_ms,
                           const std::vector<OverlapHook::Times>& beside, bool has_gaps,
                           et_schema::RankReport& report);

}  // namespace understudy::replayer
