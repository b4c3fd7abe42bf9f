#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/link/observed_memory.h"

namespace understudy::generator {

/// Sets Storage::state of storages that belong to an optimizer: external, and first read below a
/// label "Optimizer.step#…". Sets Storage::held_until if the original freed memory later than after
/// its last reader.
///
/// - Memory whose allocation the profile of the traced step recorded: held until it was freed, or
/// until the step's end.
/// - A parameter's gradient that an optimizer of the step reads, and that was not freed within the
/// step or no profile shows: held
/// until its optimizer clears it (the label "Optimizer.zero_grad#…"), in this step or the next one.
/// Without such a label, it is held until the step's end. Gradients that are accumulated in place
/// are external and need no hold.
void hold_storages(const et_schema::Trace& trace, const ObservedMemory& observed,
                   et_schema::Program& program);

}  // namespace understudy::generator
