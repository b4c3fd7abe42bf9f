#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/pages/document/page.h"
#include "fleet/comparer/compare.h"
#include "fleet/comparer/device_work.h"

namespace understudy::pages {

/// Runs B held against runs A as a document: verdict, what would make it surer, iteration times of
/// both, ratios by class with their intervals, operators and collectives, what differs in the
/// environment. Its data is the comparison's JSON (docs/formats.md, "compare --format json").
/// `top`: most operators that a text shows. `devices`: of two profiles, what their devices did,
/// which then comes first.
[[nodiscard]] Page comparison_page(const comparer::Comparison& comparison,
                                   const std::vector<comparer::Run>& a,
                                   const std::vector<comparer::Run>& b, std::size_t top,
                                   const std::optional<comparer::DeviceComparison>& devices = {});

}  // namespace understudy::pages
