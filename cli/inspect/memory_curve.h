#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace understudy::cli {

/// Values over their positions as a picture of `rows` lines of block characters, from zero to the
/// largest value. A column shows the largest of the values that fall into it; at most `columns`.
/// Each line starts with two blanks and a label of its height; ends in a line feed. Nothing for no
/// values.
[[nodiscard]] std::string draw_curve(const std::vector<std::uint64_t>& values, std::size_t columns,
                                     std::size_t rows);

}  // namespace understudy::cli
