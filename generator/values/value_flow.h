#pragma once

#include "et_schema/model/program.h"
#include "generator/flow/captured_ranges.h"
#include "generator/options/options.h"
#include "generator/values/index_uses.h"

namespace understudy::generator {

/// Recorded facts about values, from the trace or from a file beside it.
struct CapturedValues {
  CapturedRanges ranges;
  CapturedReuses reuses;
};

/// Determines how the content of each external tensor, and of each pinned result, is generated
/// (docs/design.md, "Values"), and sets Slot::value.
///
/// An operator's requirement on an argument (value_rules.h) is propagated against the data flow,
/// through operators that move values without changing them, to external tensors. A requirement on
/// a part of a tensor becomes an external slot of its own on the same storage, after the others.
/// Captured ranges narrow the requirements, and apply to otherwise unconstrained integers. A
/// captured reuse specifies how often numbers repeat within the range. Indices with neither follow
/// `spread`.
void assign_values(et_schema::Program& program, const CapturedValues& captured,
                   const IndexSpread& spread = {});

/// Replaces each mask whose number of true elements decides a shape (masked_select, nonzero, a
/// Boolean index) by an external one made with the recorded number (Loss::kMadeMasks), also in
/// bodies. A mask computed from other values than the original's would select another number of
/// elements, and all later shapes would differ.
void make_masks(et_schema::Program& program);

/// Replaces each rule that no content of its tensor can fulfil by the nearest that one can, or else
/// by the default (Loss::kAssumedArguments), so that no replay is refused for it. assign_values()
/// ends with this; call it again after tensors changed their sizes.
void weaken_rules(et_schema::Program& program);

}  // namespace understudy::generator
