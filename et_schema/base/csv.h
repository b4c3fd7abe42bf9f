#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// One record of a CSV file.
struct CsvRecord {
  std::size_t line = 0;  ///< line number of its first line, from 1
  std::vector<std::string> cells;
};

/// A CSV file with a header line.
struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<CsvRecord> records;  ///< each has as many cells as there are columns

  /// Returns the index of the column with this title, or columns.size().
  [[nodiscard]] std::size_t find(std::string_view title) const;
  [[nodiscard]] bool has(std::string_view title) const { return find(title) < columns.size(); }
};

/// Parses RFC 4180: quoted cells may contain commas, line breaks and doubled quotes; lines end in
/// "\n" or "\r\n". Throws Error (bad input) with the line if the header is missing, a title occurs
/// twice, a record has another number of cells, or a quote is not closed or followed by text.
[[nodiscard]] CsvTable parse_csv(std::string_view text, const std::string& file);

}  // namespace understudy::et_schema
