#pragma once

#include <vector>

#include "et_schema/trace.h"
#include "flow.h"
#include "selection.h"

namespace understudy::generator {

/// Labels of the backward pass that take a gradient and have no operators below them but such as
/// allocate (design.md §4, rule 5). PyTorch's own nodes without operators only hand a gradient on:
/// they are told by their names, which end in a number, or are AccumulateGrad.
[[nodiscard]] std::vector<WorkingLabel> find_working_labels(const et_schema::Trace& trace,
                                                            const Flow& flow, IdRange step,
                                                            const Selected& selected);

}  // namespace understudy::generator
