#pragma once

#include <string>

#include "comparer/compare.h"
#include "pages/html/page.h"

namespace understudy::pages {

/// Ratios and times of classes, as pictures and as a table.
[[nodiscard]] Section classes_section(const comparer::Comparison& comparison);
[[nodiscard]] Section operators_section(const comparer::Comparison& comparison);
[[nodiscard]] Section collectives_section(const comparer::Comparison& comparison);

/// The step as a whole, as a table.
[[nodiscard]] Markup step_table(const comparer::Comparison& comparison);

}  // namespace understudy::pages
