#pragma once

#include <string>
#include <vector>

namespace understudy::emitter {

/// Breaks a line of more than 100 columns after commas and indents the continuation by four more
/// columns. Assigned names and comments stay on one line.
[[nodiscard]] std::string wrapped(const std::string& line);
/// Wraps each line and indents it by `indent` columns.
[[nodiscard]] std::string block(const std::vector<std::string>& lines, std::size_t indent);

}  // namespace understudy::emitter
