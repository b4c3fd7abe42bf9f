#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Where a text stands in the database: errors name it.
struct CellPlace {
  const char* table;
  std::string row;  ///< its key
  const char* column;
};

// Columns that hold JSON of ours. A damaged or edited database may hold anything: Error (bad input)
// with file, table, row and column.

/// A list of texts in one column: a JSON array.
[[nodiscard]] std::string column_of(const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> texts_of(const Row& row, std::size_t column,
                                                const CellPlace& place);
[[nodiscard]] std::map<std::string, double> numbers_of(const Row& row, std::size_t column,
                                                       const CellPlace& place);
/// The text of a JSON object; empty for NULL and where it is empty.
[[nodiscard]] std::string object_text_of(const Row& row, std::size_t column,
                                         const CellPlace& place);

}  // namespace understudy::fleet
