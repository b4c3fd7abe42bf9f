#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// True of an operator that makes random numbers.
[[nodiscard]] bool is_draw(std::string_view op);

/// By storage: whether the program draws its content itself: random numbers, and what is computed
/// of nothing but them and constants. A replay draws others, so what has to hold of lengths and
/// offsets among them held in the original alone.
[[nodiscard]] std::vector<bool> find_drawn(const et_schema::Program& program);

}  // namespace understudy::generator
