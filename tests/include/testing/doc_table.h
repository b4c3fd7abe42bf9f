#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace understudy::testing_docs {

using Rows = std::vector<std::pair<std::string, std::string>>;

/// The rows of docs/formats.md below this header of a table, without backticks: the first cell, and
/// all others.
[[nodiscard]] inline Rows table(const std::string& header) {
  std::ifstream file(std::filesystem::path(UNDERSTUDY_DOCS) / "formats.md");
  std::string line;
  while (std::getline(file, line) && line != header) {
  }
  std::getline(file, line);  // the rule below the header
  Rows rows;
  while (std::getline(file, line) && line.starts_with("| ")) {
    std::erase(line, '`');
    const std::size_t second = line.find(" | ", 2);
    rows.emplace_back(line.substr(2, second - 2),
                      line.substr(second + 3, line.size() - second - 5));
  }
  return rows;
}

}  // namespace understudy::testing_docs
