#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/flow/flow.h"

namespace understudy::generator {

/// Memory that a compiled graph allocated for an operator without the dispatcher.
struct Allocated {
  const et_schema::Tensor* tensor;  ///< as the operator receives it
  LifetimeId lifetime;
};

[[nodiscard]] bool is_allocated_for(const Flow& flow, et_schema::NodeIndex node,
                                    LifetimeId lifetime);
/// Returns the memory allocated for an operator, each lifetime once, in the order of its inputs.
[[nodiscard]] std::vector<Allocated> allocated_for(const Flow& flow, et_schema::NodeIndex node);

inline constexpr std::string_view kEmptyStrided =
    "aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";

/// Returns an instruction that makes `slot` with kEmptyStrided. Its schema is not set.
[[nodiscard]] et_schema::Instruction allocation_of(const et_schema::Slot& layout,
                                                   et_schema::SlotId slot,
                                                   const et_schema::Device& device);

}  // namespace understudy::generator
