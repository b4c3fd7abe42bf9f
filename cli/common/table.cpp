#include "common/table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "et_schema/support/assert.h"
#include "et_schema/support/control_characters.h"

namespace understudy::cli {
namespace {

/// Characters as a terminal counts them: bytes that continue one are left out.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) {
    return cell;
  }
  std::string quoted = "\"";
  for (const char c : cell) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  UNDERSTUDY_ASSERT(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_text(std::size_t indent) const {
  std::vector<std::vector<std::string>> rows = rows_;
  for (std::vector<std::string>& row : rows) {
    std::ranges::transform(row, row.begin(), [](const std::string& cell) {
      return et_schema::escape_control_characters(cell);  // a line end would end the row
    });
  }
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const std::vector<std::string>& row : rows) {
      width = std::max(width, width_of(row[i]));
    }
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - width_of(cell), ' ');
      line += i == 0 ? "" : "  ";
      line += columns_[i].align == Alignment::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  const bool has_titles =
      std::any_of(columns_.begin(), columns_.end(),
                  [](const TableColumn& column) { return !column.title.empty(); });
  if (has_titles) {
    add_line([this](std::size_t i) -> const std::string& { return columns_[i].title; });
  }
  for (const std::vector<std::string>& row : rows) {
    add_line([&row](std::size_t i) -> const std::string& { return row[i]; });
  }
  return text;
}

std::string TextTable::to_csv() const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    text += i == 0 ? "" : ",";
    text += csv_cell(columns_[i].title);
  }
  text += '\n';
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "" : ",";
      text += csv_cell(row[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace understudy::cli
