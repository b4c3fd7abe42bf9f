#pragma once

#include <cstdint>
#include <string>

#include "batch_rules.h"
#include "et_schema/model/program.h"
#include "generator/resize/batch.h"

namespace understudy::generator {

inline constexpr const char* kNoOtherBatch = "the batch size cannot be changed";

/// A number that is proportional to the batch. Throws Error (bad input) where it is not a multiple
/// of the recorded size, or too large; `of` says whose it is.
[[nodiscard]] std::int64_t scaled_number(std::int64_t number, const BatchSize& batch, int rank,
                                         const std::string& of);

/// Gives a slot the new size. What lies outside of a dimension that grows is as much further apart.
void scale(et_schema::Slot& slot, const Dims& dims, const BatchSize& batch, int rank);

/// Storages as large as the slots of `scaled` need; what was larger than it needed to be stays so
/// much larger. Throws Error (bad input) where a size is no number.
void fit_storages(const et_schema::Program& recorded, et_schema::Program& scaled, int rank);

/// Leaves out what was recorded of time, which is of the recorded sizes.
void forget_times(et_schema::Program& program);

/// Numbers among an instruction's arguments that name sizes or strides of its tensors: they follow
/// from `recorded` to `scaled`, whose tensors have the new sizes already.
void scale_arguments(const et_schema::Program& recorded, const et_schema::Program& scaled,
                     et_schema::Instruction& instruction);

/// The rule of an external tensor's values where it counts elements, from a slot of the recorded
/// size to that of the new one. Throws Error (bad input) where a count is not proportional.
void scale_rule(const et_schema::Slot& recorded, et_schema::Slot& scaled, const BatchSize& batch,
                int rank);

}  // namespace understudy::generator
