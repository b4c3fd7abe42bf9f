#pragma once

#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// By instruction: whether it only allocates memory whose content is read before any instruction
/// writes it. Such content came from outside of the dispatcher: torch.tensor([…]) shows as `empty`
/// and nothing more.
[[nodiscard]] std::vector<bool> find_unwritten_allocations(const et_schema::Program& program);

/// By storage: whether its content follows from the program's text alone: what operators without
/// tensors make (arange, full; no random numbers and no fresh memory), and what is computed of
/// nothing else. A replay computes the very numbers of the original.
[[nodiscard]] std::vector<bool> find_known(const et_schema::Program& program);

/// By storage: whether its integers are what a made mask (masks.h) selected, or follow from that.
/// The recorded mask selected those that fit what is computed of them (the classes of one cluster,
/// say), the made one selects any.
[[nodiscard]] std::vector<bool> find_selected(const et_schema::Program& program);

/// Whether a tensor is a made mask, or by `selected` integers that follow from one.
[[nodiscard]] bool follows_made_mask(const et_schema::Slot& slot,
                                     const std::vector<bool>& selected);

}  // namespace understudy::generator
