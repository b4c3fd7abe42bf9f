#pragma once

#include "et_schema/model/program.h"
#include "generator/flow/captured_ranges.h"
#include "generator/options/options.h"
#include "generator/values/index_uses.h"

namespace understudy::generator {

/// What the trace, or a file beside it, tells of values.
struct CapturedValues {
  CapturedRanges ranges;
  CapturedReuses reuses;
};

/// Finds how the content of each external tensor, and of each pinned result, has to be made
/// (design.md §6), and writes it into Slot::value.
///
/// What an operator asks of an argument (value_rules.h) is carried against the flow of data,
/// through operators that move values without changing them, to the external tensors that they come
/// from. Asked of a part of a tensor, it becomes an external slot of its own on the same storage,
/// after the others. Captured ranges narrow what an operator asks, and hold for integers of which
/// nothing is asked; a captured reuse says how often numbers come again within the range; indices
/// of which neither is known are spread as the user wants.
void assign_values(et_schema::Program& program, const CapturedValues& captured,
                   const IndexSpread& spread = {});

}  // namespace understudy::generator
