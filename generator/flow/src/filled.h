#pragma once

#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// For each tensor among an operator's inputs, undefined ones left out: whether the operator fills
/// that memory without reading it, such as `out` of "aten::mm.out" and what a kernel's roles call
/// "w".
[[nodiscard]] std::vector<bool> only_filled(const et_schema::Node& node);

}  // namespace understudy::generator
