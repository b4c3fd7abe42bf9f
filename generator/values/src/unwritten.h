#pragma once

#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// By instruction: whether it only allocates memory whose content is read before any instruction
/// writes it. Such content came from outside of the dispatcher: torch.tensor([…]) shows as `empty`
/// and nothing more.
[[nodiscard]] std::vector<bool> find_unwritten_allocations(const et_schema::Program& program);

}  // namespace understudy::generator
