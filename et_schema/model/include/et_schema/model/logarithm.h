#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace understudy::et_schema {

/// Whether an operator, named with or without its overload, takes a logarithm: that of zero is
/// minus infinity.
[[nodiscard]] inline bool is_logarithm(std::string_view op) {
  constexpr std::array<std::string_view, 4> kNames = {"aten::_foreach_log", "aten::log",
                                                      "aten::log10", "aten::log2"};
  return std::ranges::find(kNames, op.substr(0, op.find('.'))) != kNames.end();
}

}  // namespace understudy::et_schema
