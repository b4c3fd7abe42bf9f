#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/figures.h"

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

}  // namespace understudy::cli
