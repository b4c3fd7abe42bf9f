#pragma once

#include "captured_ranges.h"
#include "et_schema/program.h"

namespace understudy::generator {

/// Finds how the content of each external tensor, and of each pinned result, has to be made
/// (design.md §6), and writes it into Slot::value.
///
/// What an operator asks of an argument (value_rules.h) is carried against the flow of data,
/// through operators that move values without changing them, to the external tensors that they come
/// from. Asked of a part of a tensor, it becomes an external slot of its own on the same storage,
/// after the others. Captured ranges narrow what an operator asks, and hold for integers of which
/// nothing is asked.
void assign_values(et_schema::Program& program, const CapturedRanges& ranges);

}  // namespace understudy::generator
