#pragma once

#include <vector>

#include "et_schema/program.h"
#include "et_schema/trace.h"
#include "flow.h"
#include "groups.h"
#include "labels.h"
#include "selection.h"

namespace understudy::generator {

/// Writes the selected operators of one rank as instructions over numbered slots (design.md §7).
/// Value rules are not yet among them: see value_rules.h. Losses of lowering are added to
/// Program::losses.
[[nodiscard]] et_schema::Program lower(const et_schema::Trace& trace, const CommCalls& calls,
                                       const Flow& flow, const Selected& selected,
                                       const std::vector<WorkingLabel>& labels, Groups& groups);

}  // namespace understudy::generator
