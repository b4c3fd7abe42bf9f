#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Location of a value in the database, for errors.
struct CellPlace {
  const char* table;
  std::string row;  ///< the row's key
  const char* column;
};

// Accessors of columns with this program's JSON. A damaged or edited database may hold anything
// else: Error (bad input) with file, table, row and column.

/// Converts a list of texts to one column: a JSON array.
[[nodiscard]] std::string column_of(const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> texts_of(const Row& row, std::size_t column,
                                                const CellPlace& place);
[[nodiscard]] std::map<std::string, double> numbers_of(const Row& row, std::size_t column,
                                                       const CellPlace& place);
/// Returns the text of a JSON object; empty for NULL and empty text.
[[nodiscard]] std::string object_text_of(const Row& row, std::size_t column,
                                         const CellPlace& place);

}  // namespace understudy::fleet
