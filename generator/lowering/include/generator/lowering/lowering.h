#pragma once

#include <map>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/lowering/groups.h"
#include "generator/selection/selection.h"

namespace understudy::generator {

/// Writes the selected operators of one rank as instructions over numbered slots (docs/design.md,
/// "Identity"). Value rules are added later: see value_rules.h. Losses of lowering are added to
/// Program::losses. `reduce_ops`: GenerateOptions::reduce_ops.
[[nodiscard]] et_schema::Program lower(
    const et_schema::Trace& trace, const CommCalls& calls, const Flow& flow,
    const Selected& selected, const std::vector<WorkingLabel>& labels, Groups& groups,
    const std::map<et_schema::CommKind, std::string>& reduce_ops);

}  // namespace understudy::generator
