#pragma once

#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// By tensor among an operator's inputs, undefined ones left out: whether it fills that memory
/// without having read it, as `out` of "aten::mm.out" and what a kernel's roles call "w".
[[nodiscard]] std::vector<bool> only_filled(const et_schema::Node& node);

}  // namespace understudy::generator
