#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "fleet/comparer/compare.h"
#include "fleet/comparer/device_work.h"

namespace understudy::pages {

/// Returns the JSON of docs/formats.md, "compare --format json".
[[nodiscard]] nlohmann::ordered_json comparison_json(
    const comparer::Comparison& comparison, const std::vector<comparer::Run>& a,
    const std::vector<comparer::Run>& b, const std::optional<comparer::DeviceComparison>& devices);

/// Returns the part "device" of that JSON.
[[nodiscard]] nlohmann::ordered_json device_json(const comparer::DeviceComparison& comparison);

/// Inserts the sections of the part "device" of `json` in front of the page's.
void add_device_sections(const nlohmann::ordered_json& json, std::size_t top, Page& page);

/// Returns sections with the comparison's rows. `times` is drawn above the step's section.
[[nodiscard]] std::vector<Section> rows_sections(const comparer::Comparison& comparison,
                                                 bool by_device, std::size_t top,
                                                 const Table& times);

}  // namespace understudy::pages
