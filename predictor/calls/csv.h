#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::predictor {

/// One record of a CSV file.
struct CsvRecord {
  std::size_t line = 0;  ///< where it begins, from 1
  std::vector<std::string> cells;
};

/// A CSV file with a line of titles.
struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<CsvRecord> records;  ///< of as many cells as there are columns

  /// Column of that title, or columns.size().
  [[nodiscard]] std::size_t find(std::string_view title) const;
  [[nodiscard]] bool has(std::string_view title) const { return find(title) < columns.size(); }
};

/// RFC 4180: cells in quotes may hold commas, line breaks and doubled quotes; lines end in "\n" or
/// "\r\n". Throws Error (bad input) with the line: no titles, a title twice, a record of another
/// number of cells, a quote that never ends, or text behind one.
[[nodiscard]] CsvTable parse_csv(std::string_view text, const std::string& file);

}  // namespace understudy::predictor
