#include "cli/common/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

namespace understudy::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kTextColumn = 30;

/// Returns the columns on a terminal: the number of UTF-8 characters.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::string row_text(const HelpRow& row) {
  std::string line = "  " + row.flag;
  const std::size_t width = columns(line);
  line += width + 2 > kTextColumn ? "\n" + std::string(kTextColumn, ' ')
                                  : std::string(kTextColumn - width, ' ');
  return line + wrapped(row.text, kTextColumn) + "\n";
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string lines;
  std::size_t at = indent;
  for (std::string word; words >> word; at += columns(word)) {
    if (!lines.empty() && at + 1 + columns(word) > kWidth) {
      lines += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!lines.empty()) {
      lines += ' ';
      ++at;
    }
    lines += word;
  }
  return lines;
}

std::string help_rows(std::span<const char* const> groups, const std::vector<HelpRow>& rows) {
  std::string text;
  for (const char* group : groups) {
    std::string title = fmt::format("\n{}\n", group);
    for (const HelpRow& row : rows) {
      if (row.group == group) {
        text += std::exchange(title, "") + row_text(row);
      }
    }
  }
  return text;
}

}  // namespace understudy::cli
