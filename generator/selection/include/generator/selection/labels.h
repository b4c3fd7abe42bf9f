#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/link.h"
#include "generator/selection/selection.h"

namespace understudy::generator {

struct LabelsFound {
  std::vector<WorkingLabel> working;
  std::uint64_t handed_on = 0;  ///< functions whose backward only passes its gradient on
};

/// Finds labels that did work which no operator shows (docs/design.md, "Selection", 6 and 7):
/// labels of the backward pass that take a gradient and have only allocations below them, and
/// compiled graphs whose kernels have no nodes. PyTorch's own autograd nodes without operators only
/// pass a gradient on; their names end in a number, or are AccumulateGrad. `link` may be null: then
/// no time shows which functions only pass a gradient on, and all count as work.
[[nodiscard]] LabelsFound find_labels(const et_schema::Trace& trace, const Flow& flow, IdRange step,
                                      const Selected& selected, const Link* link);

}  // namespace understudy::generator
