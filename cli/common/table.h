#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace understudy::cli {

enum class Alignment : std::uint8_t { kLeft, kRight };

struct TableColumn {
  std::string title;
  Alignment align = Alignment::kLeft;
};

/// Rows of texts under titles, printed aligned for people or as CSV for programs.
class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Aligned columns, two blanks between them, each line indented by `indent` blanks. Without any
  /// title there is no line of titles.
  [[nodiscard]] std::string to_text(std::size_t indent = 2) const;
  /// RFC 4180, lines end in "\n".
  [[nodiscard]] std::string to_csv() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1234567 → "1,234,567".
[[nodiscard]] std::string with_commas(std::uint64_t number);

/// 1536 → "1.5 KiB".
[[nodiscard]] std::string with_bytes(std::uint64_t bytes);

}  // namespace understudy::cli
