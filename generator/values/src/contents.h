#pragma once

#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// Returns, by instruction, whether it allocates memory that is read before any instruction writes
/// it. Such content was written outside of the dispatcher: torch.tensor([…]) appears only as
/// `empty`.
[[nodiscard]] std::vector<bool> find_unwritten_allocations(const et_schema::Program& program);

/// Returns, by storage, whether its content follows from the program alone: results of operators
/// without tensor arguments (arange, full; not random numbers or uninitialised memory), and
/// everything computed only from such results. A replay computes the original's exact numbers.
[[nodiscard]] std::vector<bool> find_known(const et_schema::Program& program);

/// Returns by storage whether its integers are what a made mask (masks.h) selected, or follow from
/// that. The recorded mask selected integers that fit later computations (the classes of one
/// cluster, say); a made mask selects arbitrary ones.
[[nodiscard]] std::vector<bool> find_selected(const et_schema::Program& program);

/// Returns true if a tensor is a made mask or, by `selected`, holds integers that follow from one.
[[nodiscard]] bool follows_made_mask(const et_schema::Slot& slot,
                                     const std::vector<bool>& selected);

}  // namespace understudy::generator
