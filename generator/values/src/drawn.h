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

/// True of arithmetic on integers that can leave any range: it keeps none of those asked of
/// indices.
[[nodiscard]] bool is_unbounded_arithmetic(std::string_view op);

/// By storage: whether its integers are what a made mask (masks.h) selected, or follow from that.
/// The recorded mask selected those that fit what is computed of them (the classes of one cluster,
/// say), the made one selects any.
[[nodiscard]] std::vector<bool> find_selected(const et_schema::Program& program);

}  // namespace understudy::generator
