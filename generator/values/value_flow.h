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
/// (docs/design.md, "Values"), and writes it into Slot::value.
///
/// What an operator needs of an argument (value_rules.h) is carried against the data flow, through
/// operators that move values without changing them, to the external tensors that they come from. A
/// need of a part of a tensor becomes an external slot of its own on the same storage, after the
/// others. Captured ranges narrow what an operator needs, and hold for integers that nothing else
/// constrains; a captured reuse says how often numbers repeat within the range; indices without
/// either are spread as the user wants.
void assign_values(et_schema::Program& program, const CapturedValues& captured,
                   const IndexSpread& spread = {});

/// Replaces each mask whose number of true elements decides a shape (masked_select, nonzero, a
/// Boolean index) by an external one made with the recorded number (Loss::kMadeMasks): computed
/// from other values than the original's it would select another number, and all that follows would
/// have another shape. In bodies too.
void make_masks(et_schema::Program& program);

}  // namespace understudy::generator
