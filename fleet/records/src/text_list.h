#pragma once

#include <string>
#include <vector>

namespace understudy::fleet {

/// A list of texts in one column: a JSON array.
[[nodiscard]] std::string column_of(const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> texts_of(const std::string& column);

}  // namespace understudy::fleet
