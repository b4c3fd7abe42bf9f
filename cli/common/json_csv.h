#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace understudy::cli {

/// Returns a value as a cell: a text without quotes, an empty text for null.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value);

/// Returns a document as tables, each a block: "# " and its name, titles, rows; an empty line ends
/// it. Each list is a table by its key. Members of objects are columns with their keys, joined by
/// dots. Plain values have the columns `place`, from 0, and `value`. A list below an element has,
/// first, a column for each list around it, with the element's `rank`, `name` or `job`, else its
/// place. What is in no list is the table `document`, of one row.
[[nodiscard]] std::string json_to_csv(const nlohmann::ordered_json& document);

}  // namespace understudy::cli
