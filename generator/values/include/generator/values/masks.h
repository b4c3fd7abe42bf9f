#pragma once

#include "et_schema/model/program.h"

namespace understudy::generator {

/// Whether a slot used as an index is a mask: Boolean, or the older unsigned bytes.
[[nodiscard]] bool is_mask(const et_schema::Slot& slot);

/// Replaces each mask whose number of true elements decides a shape (masked_select, nonzero, a
/// Boolean index) by an external one made with the recorded number (Loss::kMadeMasks): computed
/// from other values than the original's it would select another number, and all that follows would
/// have another shape. In bodies too.
void make_masks(et_schema::Program& program);

}  // namespace understudy::generator
