#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/link/observed_memory.h"

namespace understudy::generator {

/// Sets Storage::state of storages that belong to an optimizer: external, and first read below a
/// label "Optimizer.step#…". Sets Storage::held_until if the original freed memory later than after
/// its last reader.
///
/// - If the profile of the traced step saw the allocation by the operator that makes the memory:
/// until its free, or until the step's end.
/// - A parameter's gradient that is alive at the step's end, or that no profile shows: until its
/// optimizer clears it (the label "Optimizer.zero_grad#…"), in this step or the next one. Without
/// such a label: until the step's end. Gradients that are accumulated in place are external and
/// need no hold.
void hold_storages(const et_schema::Trace& trace, const ObservedMemory& observed,
                   et_schema::Program& program);

}  // namespace understudy::generator
