#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "pages/html/table.h"

namespace understudy::pages {

// Facts and rows taken from the JSON that is the page's data: so each knows its place there.

[[nodiscard]] Cell cell_of(const nlohmann::ordered_json& value);

/// The figure at `at`, a JSON pointer to something in `data`.
[[nodiscard]] Fact fact_at(const nlohmann::ordered_json& data, const std::string& at,
                           std::string name, CellKind kind, std::string unit = "");

/// `table` with a row for each object of the list at `table.at`, by the columns' keys. A cell
/// without a key, or whose key the object lacks, is empty.
[[nodiscard]] Table table_at(const nlohmann::ordered_json& data, Table table);

}  // namespace understudy::pages
