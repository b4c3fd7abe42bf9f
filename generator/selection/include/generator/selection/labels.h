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
  std::uint64_t handed_on = 0;  ///< functions whose backward only hands its gradient on
};

/// Labels that did work which no operator shows (design.md, "Selection", 6): of the backward pass
/// those that take a gradient and have no operators below them but such as allocate, and compiled
/// graphs whose kernels have no nodes. PyTorch's own autograd nodes without operators only hand a
/// gradient on: they are told by their names, which end in a number, or are AccumulateGrad. `link`
/// may be null: then no time tells functions that only hand on, and all count as work.
[[nodiscard]] LabelsFound find_labels(const et_schema::Trace& trace, const Flow& flow, IdRange step,
                                      const Selected& selected, const Link* link);

}  // namespace understudy::generator
