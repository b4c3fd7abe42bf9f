#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// True of an operator that makes random numbers.
[[nodiscard]] bool is_draw(std::string_view op);

/// By storage: whether the program draws its content itself: random numbers, what is computed of
/// nothing but them and constants, and what other ranks, which do the same, send of it. A replay
/// draws others, so what has to hold of lengths and offsets among them held in the original alone.
[[nodiscard]] std::vector<bool> find_drawn(const et_schema::Program& program);

/// True of operators on integers whose results need not be in the range that is asked of them: they
/// select some elements, of which alone it is asked, or compute.
[[nodiscard]] bool leaves_range(std::string_view op);

/// By storage: whether its integers are what a made mask (masks.h) selected, or follow from that.
/// The recorded mask selected those that fit what is computed of them (the classes of one cluster,
/// say), the made one selects any.
[[nodiscard]] std::vector<bool> find_selected(const et_schema::Program& program);

/// Whether a tensor is a made mask, or by `selected` integers that follow from one.
[[nodiscard]] bool follows_made_mask(const et_schema::Slot& slot,
                                     const std::vector<bool>& selected);

}  // namespace understudy::generator
