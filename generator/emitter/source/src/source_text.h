#pragma once

#include <string>
#include <vector>

namespace understudy::emitter {

/// A line of at most 100 columns, or several: broken behind commas, what follows indented by four
/// more. Names that are assigned to stay in one line, and comments.
[[nodiscard]] std::string wrapped(const std::string& line);
/// Each line wrapped and indented by so many columns.
[[nodiscard]] std::string block(const std::vector<std::string>& lines, std::size_t indent);
/// Lines that differ by ascending numbers in [ ] alone become a loop.
[[nodiscard]] std::vector<std::string> looped(const std::vector<std::string>& lines,
                                              bool is_python);
/// "LinearRelu" of "linear_relu".
[[nodiscard]] std::string type_name(const std::string& name);

}  // namespace understudy::emitter
