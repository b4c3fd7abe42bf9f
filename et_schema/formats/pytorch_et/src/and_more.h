#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// "other files: a.txt and 3 more", of at least one name.
[[nodiscard]] inline std::string and_more(std::string_view what,
                                          const std::vector<std::string>& names) {
  return fmt::format("{}{}{}", what, names.front(),
                     names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
}

}  // namespace understudy::et_schema
