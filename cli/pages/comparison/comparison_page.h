#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/pages/document/page.h"
#include "fleet/comparer/compare.h"
#include "fleet/comparer/device_work.h"

namespace understudy::pages {

/// Compares runs B with runs A in a document: verdict, advice for a surer one, iteration times of
/// both, ratios by class with their intervals, operators and collectives, differences of the
/// environment. Its data is the comparison's JSON (docs/formats.md, "compare --format json").
/// `top`: maximum number of operators in a text. `devices`: device work of two profiles, shown
/// first.
[[nodiscard]] Page comparison_page(const comparer::Comparison& comparison,
                                   const std::vector<comparer::Run>& a,
                                   const std::vector<comparer::Run>& b, std::size_t top,
                                   const std::optional<comparer::DeviceComparison>& devices = {});

}  // namespace understudy::pages
