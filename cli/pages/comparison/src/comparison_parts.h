#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/pages/document/page.h"
#include "fleet/comparer/compare.h"

namespace understudy::pages {

inline constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

/// Inserts the sections of the part "device" of `json` in front of the page's.
void add_device_sections(const nlohmann::ordered_json& json, std::size_t top, Page& page);

/// Returns sections with the comparison's rows, which are `rows` in `json`. `times` is drawn above
/// the step's section.
[[nodiscard]] std::vector<Section> rows_sections(const comparer::Comparison& comparison,
                                                 const nlohmann::ordered_json& json, bool by_device,
                                                 std::size_t top, const Table& times);

}  // namespace understudy::pages
