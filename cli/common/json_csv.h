#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace understudy::cli {

/// One figure of a JSON document, and its place there.
struct JsonFigure {
  std::string rank;     ///< "all" outside of `ranks`
  std::string section;  ///< the keys above it, joined by dots
  std::string name;     ///< of an element of a list: its `name`, else its index from 0
  std::string detail;   ///< of an element of a list: its other texts, joined by ", "
  std::string metric;   ///< its key; `value` in a list of plain values; "samples_ms.3" in a list
                        ///< below an element
  std::string value;    ///< empty for null
};

/// Returns a value as a cell: a text without quotes, an empty text for null.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value);

/// Returns all figures and texts of a document. Figures below `ranks`, a list of objects with
/// `rank`, belong to those ranks.
[[nodiscard]] std::vector<JsonFigure> figures_of(const nlohmann::ordered_json& document);

/// Returns all figures as one long table, `rank,section,name,detail,metric,value`. No figure of the
/// JSON can be missing.
[[nodiscard]] std::string json_to_csv(const nlohmann::ordered_json& document);

}  // namespace understudy::cli
