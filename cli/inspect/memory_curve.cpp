#include "inspect/memory_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/table.h"

namespace understudy::cli {
namespace {

constexpr std::size_t kLevels = 8;  ///< of a block character
constexpr std::array<const char*, kLevels + 1> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                          "▅", "▆", "▇", "█"};

std::vector<std::uint64_t> largest_by_column(const std::vector<std::uint64_t>& values,
                                             std::size_t columns) {
  std::vector<std::uint64_t> largest(std::min(columns, values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t& column = largest[i * largest.size() / values.size()];
    column = std::max(column, values[i]);
  }
  return largest;
}

/// Height in eighths of a line; what is not zero shows.
std::size_t height_of(std::uint64_t value, std::uint64_t top, std::size_t rows) {
  const double share = static_cast<double>(value) / static_cast<double>(std::max(top, value));
  const auto height = static_cast<std::size_t>(share * static_cast<double>(rows * kLevels));
  return value == 0 ? 0 : std::max<std::size_t>(height, 1);
}

}  // namespace

std::string draw_curve(const std::vector<std::uint64_t>& values, std::size_t columns,
                       std::size_t rows) {
  if (values.empty()) {
    return {};
  }
  const std::vector<std::uint64_t> points = largest_by_column(values, columns);
  const std::uint64_t top = *std::max_element(points.begin(), points.end());
  const std::string top_label = with_bytes(top);
  const std::string bottom_label = "0";
  std::string picture;
  for (std::size_t row = rows; row-- > 0;) {
    const std::string& label = row + 1 == rows ? top_label : row == 0 ? bottom_label : "";
    std::string line = fmt::format("  {:>{}} ", label, top_label.size());
    for (const std::uint64_t point : points) {
      const std::size_t height = height_of(point, top, rows);
      line += kBlocks[std::min(height - std::min(height, row * kLevels), kLevels)];
    }
    picture += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return picture;
}

}  // namespace understudy::cli
