#pragma once

#include "et_schema/model/program.h"
#include "predictor/what_if/batch.h"

namespace understudy::predictor {

/// Numbers among an instruction's arguments that name sizes or strides of its tensors: they follow
/// from `recorded` to `scaled`, whose tensors have the new sizes already.
void scale_arguments(const et_schema::Program& recorded, const et_schema::Program& scaled,
                     et_schema::Instruction& instruction);

/// The rule of an external tensor's values where it counts elements, from a slot of the recorded
/// size to that of the new one. Throws Error (bad input) where a count is not proportional.
void scale_rule(const et_schema::Slot& recorded, et_schema::Slot& scaled, const BatchSize& batch,
                int rank);

}  // namespace understudy::predictor
