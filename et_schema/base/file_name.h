#pragma once

#include <string_view>

namespace understudy::et_schema {

/// "a/b.json" → "b.json".
[[nodiscard]] constexpr std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace understudy::et_schema
